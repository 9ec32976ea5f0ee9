#include "cli/json_path.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "cli/json_template.hpp"

using namespace wattle;
using namespace wattle::cli;

namespace {
OrderedJson document() {
  return OrderedJson::parse(R"({"nodes":[
    {"name":"a","connected":true,"power_w":61.5,"psi":{"cpu_some_ratio":0.1},"labels":{"topology.k8s.io/zone":"z1"}},
    {"name":"b","connected":false,"power_w":null,"psi":{"cpu_some_ratio":0.3}},
    {"name":"c\u001b[2J","connected":true,"power_w":8,"psi":{}}],"total":3})");
}

std::string printed(const std::string& text) {
  const auto parsed = JsonTemplate::parse(text);
  if (!parsed) return parsed.error().message();
  const auto out = parsed->text_of(document());
  return out ? *out : out.error().message();
}
}  // namespace

TEST_CASE("a template prints the values of its paths, separated by spaces, and text unchanged") {
  CHECK(printed("{.nodes[0].name}") == "a");
  CHECK(printed("{$.nodes[-2]['name']} of {.total}\n") == "b of 3\n");
  CHECK(printed("{.nodes[0:2].name}") == "a b");
  CHECK(printed("{.nodes[*].power_w}") == "61.5  8");
  CHECK(printed("{.nodes[0].psi}") == R"({"cpu_some_ratio":0.1})");
  CHECK(printed("{.nodes[0].psi.*} {.nodes[0].labels.topology\\.k8s\\.io/zone}") == "0.1 z1");
  CHECK(printed("{'{}'}{\"\\t\"}{.nodes[0].connected}") == "{}\ttrue");
}

TEST_CASE("a range prints its body for each value, and a key that only some items have is empty") {
  CHECK(printed("{range .nodes[*]}{.name}={.psi.cpu_some_ratio}{\"\\n\"}{end}") == "a=0.1\nb=0.3\nc?[2J=\n");
  CHECK(printed("{range .nodes[0:2]}{@.name}/{$.total} {end}") == "a/3 b/3 ");
  CHECK(printed("{range .nodes[0:1]}{range .psi.*}<{@}>{end}{end}") == "<0.1>");
}

TEST_CASE("a filter selects items by comparison or by existence") {
  CHECK(printed("{.nodes[?(@.connected == false)].name}") == "b");
  CHECK(printed("{.nodes[?(@.power_w > 10)].name}") == "a");
  CHECK(printed("{.nodes[?(@.power_w<=8)].name}") == "c?[2J");
  CHECK(printed("{.nodes[?(@.name!=\"a\")].connected}") == "false true");
  CHECK(printed("{.nodes[?(@.power_w == null)].name}") == "b");
  CHECK(printed("{.nodes[?(@.psi.cpu_some_ratio)].name}") == "a b");
}

TEST_CASE("control characters of the document do not reach the terminal") {
  CHECK(printed("{.nodes[2].name}") == "c?[2J");
  CHECK(printed("{.nodes[2]}").find('\x1b') == std::string::npos);
}

TEST_CASE("an error names the column and the fix") {
  const auto reports = [](const char* text, const char* what) {
    CAPTURE(text);
    const std::string message = printed(text);
    CAPTURE(message);
    CHECK(message.find(what) != std::string::npos);
  };
  reports(".nodes[*].name", "column 1: there is no path in braces");
  reports("{.nodes[*].name", "column 1: \"{\" without \"}\"");
  reports("ab {.nodes[*.name}", "column 13: \"]\" is missing");
  reports("{nodes}", "column 2: a path begins with");
  reports("{.nodes..name}", "column 8: \"..\" is not supported");
  reports("{.nodes[?(@.a == b)]}", "column 19: \"b\" is not a value");
  reports("{.nodes[?(.a)]}", "column 11: a filter begins with @");
  reports("{.nodes[]}", "column 9: neither a number");
  reports("{.nodes[0].}", "column 12: a name is missing");
  reports("{}", "column 2: nothing is between the braces");
  reports("{end}", "column 1: {end} without {range}");
  reports("{range .nodes[*]}{.name}", "column 2: {range} without {end}");
  reports("{.nodes[*].nmae}", "column 11: unknown key \"nmae\" (did you mean \"name\"?");
  reports("{.items[*].name}", "column 2: unknown key \"items\" (keys: nodes, total)");
}

TEST_CASE("an empty list selects nothing, and no key is unknown in it") {
  const auto parsed = JsonTemplate::parse("{.nodes[*].anything}").value();
  CHECK(parsed.text_of(OrderedJson::parse(R"({"nodes":[]})")).value() == "");
}

TEST_CASE("any path of existing steps selects the value at its end") {
  CHECK(rc::check([](const std::vector<std::pair<bool, std::uint8_t>>& steps) {
    OrderedJson value = "x";
    std::string path;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      OrderedJson outer;
      if (step->first) {
        const std::size_t index = step->second % 4;
        outer = OrderedJson::array();
        for (std::size_t i = 0; i < index; ++i) outer.push_back(nullptr);
        outer.push_back(value);
        path = "[" + std::to_string(index) + "]" + path;
      } else {
        const std::string key = "k" + std::to_string(step->second);
        outer = OrderedJson::object();
        outer[key] = value;
        path = (step->second % 2 == 0 ? "." + key : "['" + key + "']") + path;
      }
      value = std::move(outer);
    }
    const auto parsed = JsonPath::parse(path, "path");
    RC_ASSERT(parsed.has_value());
    const auto found = parsed->of(value, value);
    RC_ASSERT(found.size() == 1U);
    RC_ASSERT(*found[0] == OrderedJson("x"));
  }));
}
