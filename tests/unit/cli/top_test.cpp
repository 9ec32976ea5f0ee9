// `wattle top` without a terminal and without a controller: keys in, screens out.
#include <doctest/doctest.h>

#include "cli/top/model.hpp"
#include "common/json/value.hpp"
#include "common/printable.hpp"

using namespace wattle;
using namespace wattle::cli;
using namespace wattle::cli::top;

namespace {
Json node_of(const std::string& name, double power_w, double used_cores, double pods) {
  return {{"name", name},
          {"connected", true},
          {"age_ms", 100.0},
          {"cpu_used_cores", used_cores},
          {"cpu_cores", 8.0},
          {"memory_used_bytes", 1e9},
          {"memory_total_bytes", 8e9},
          {"psi", {{"cpu_some_ratio", used_cores / 100}}},
          {"power_w", power_w},
          {"energy_source", "rapl"},
          {"pods", pods},
          {"latency", Json::array({{{"target", "users"}, {"p50_ms", 20 - power_w / 10}}})}};
}

Json fleet_of(std::vector<Json> nodes) {
  return {{"status", {{"mode", "live"}, {"policy", "dqn"}}}, {"nodes", std::move(nodes)}};
}
Json three() { return fleet_of({node_of("a", 50, 1, 3), node_of("b", 90, 2, 1), node_of("c", 70, 7, 2)}); }

Json workload_of(const Json& name, const std::string& uid, double power_w, double energy_j) {
  return {{"uid", uid},         {"name", name},         {"namespace", "default"},
          {"kind", "pod"},      {"node", "b"},          {"cpu_cores", power_w / 10},
          {"power_w", power_w}, {"energy_j", energy_j}, {"energy_source", "rapl"}};
}

std::string text_of(const Line& line) {
  std::string out;
  for (const Span& span : line) out += span.text;
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

class Top {
 public:
  explicit Top(bool wide = false) : model(wide) {}
  Then press(Key key) { return model.press({key}); }
  Then type(const std::string& text) {
    Then then = Then::draw;
    for (const char c : text) then = model.press({Key::text, static_cast<char32_t>(c)});
    return then;
  }
  std::vector<std::string> lines() {
    std::vector<std::string> out;
    for (const Line& line : model.picture(size)) out.push_back(text_of(line));
    return out;
  }
  // The first words below the titles.
  std::vector<std::string> names() {
    std::vector<std::string> out;
    const auto all = lines();
    for (std::size_t i = 3; i + 1 < all.size(); ++i)
      if (!all[i].empty()) out.push_back(all[i].substr(0, all[i].find(' ')));
    return out;
  }
  std::string chosen() {
    for (const Line& line : model.picture(size))
      if (!line.empty() && line.front().reverse) return text_of({line.front()});
    return "";
  }
  Model model;
  Size size{12, 120};
};

using Names = std::vector<std::string>;
}  // namespace

TEST_CASE("nodes are sorted by power at first, and by any other column on request") {
  Top top;
  top.model.report("", three());
  CHECK(top.lines()[0].rfind("live dqn | ", 0) == 0);
  CHECK(top.lines()[1] == "nodes 3 | by POWER, highest first");
  CHECK(top.lines()[2].find("POWERv") != std::string::npos);
  CHECK(top.names() == Names{"b", "c", "a"});
  top.type("C");
  CHECK(top.names() == Names{"c", "b", "a"});
  top.type("D");
  CHECK(top.names() == Names{"a", "c", "b"});
  top.type("P");
  CHECK(top.names() == Names{"c", "b", "a"});
  top.type("L");
  CHECK(top.names() == Names{"a", "c", "b"});
  SUBCASE("the same key again reverses the order, and so does r") {
    top.type("L");
    CHECK(top.lines()[1] == "nodes 3 | by LATENCY, lowest first");
    CHECK(top.names() == Names{"b", "c", "a"});
    top.type("r");
    CHECK(top.names() == Names{"a", "c", "b"});
  }
  SUBCASE("< and > cycle through the columns") {
    top.type("W<");
    CHECK(top.lines()[1].find("by AGE") != std::string::npos);
    top.type(">>");
    CHECK(top.lines()[1] == "nodes 3 | by NODE, A to Z");
    CHECK(top.names() == Names{"a", "b", "c"});
  }
}

TEST_CASE("unknown values come last in either direction") {
  Top top;
  Json unknown = node_of("u", 1, 1, 1);
  unknown["power_w"] = nullptr;
  top.model.report("", fleet_of({unknown, node_of("a", 50, 1, 3), node_of("b", 90, 2, 1)}));
  CHECK(top.names() == Names{"b", "a", "u"});
  top.type("r");
  CHECK(top.names() == Names{"a", "b", "u"});
}

TEST_CASE("the selected row stays selected when it moves, and rows scroll to it") {
  Top top;
  top.model.report("", three());
  CHECK(top.chosen() == "b");
  top.press(Key::down);
  CHECK(top.chosen() == "c");
  top.type("N");
  CHECK(top.chosen() == "c");
  top.model.report("", fleet_of({node_of("a", 50, 1, 3), node_of("b", 90, 2, 1)}));
  CHECK(top.chosen() == "b");  // took its place
  std::vector<Json> many;
  for (int i = 0; i < 5000; ++i) many.push_back(node_of("n" + std::to_string(10000 + i), i, 1, 1));
  top.model.report("", fleet_of(many));
  top.press(Key::last);
  CHECK(top.chosen() == "n14999");
  CHECK(top.names().size() == 8);
  top.press(Key::page_up);
  CHECK(top.chosen() == "n14991");
  top.press(Key::page_down);
  top.press(Key::page_down);
  CHECK(top.chosen() == "n14999");
  top.press(Key::first);
  CHECK(top.names().front() == "n10000");
  top.type("kkkj");
  CHECK(top.chosen() == "n10001");
}

TEST_CASE("a filter is typed, shown, kept, edited and cleared") {
  Top top;
  Json away = node_of("Zeta", 10, 1, 1);
  away["connected"] = false;
  top.model.report("", fleet_of({node_of("alpha", 50, 1, 3), node_of("beta", 90, 2, 1), away}));
  top.type("/BET");
  CHECK(top.names() == Names{"beta"});
  CHECK(top.lines().back().rfind("/BET_", 0) == 0);
  top.press(Key::enter);
  CHECK(top.lines()[1] == "nodes 1 of 3 | by POWER, highest first | filter: BET");
  CHECK(top.type("q") == Then::quit);
  top.type("/");
  CHECK(top.type("q") == Then::draw);  // text in the filter
  CHECK(top.names().empty());
  for (int i = 0; i < 10; ++i) top.press(Key::backspace);
  CHECK(top.names().size() == 3);
  top.type("offline");
  CHECK(top.names() == Names{"Zeta"});
  top.press(Key::escape);
  CHECK(top.names().size() == 3);
  CHECK(top.model.node().empty());
  top.type("/eta");
  top.press(Key::enter);
  CHECK(top.names().size() == 2);
  top.press(Key::escape);
  CHECK(top.names().size() == 3);
}

TEST_CASE("a node is opened and closed") {
  Top top;
  top.size.columns = 160;
  top.model.report("", three());
  CHECK(top.press(Key::enter) == Then::ask);
  CHECK(top.model.node() == "b");
  CHECK(top.lines()[1].starts_with("b: waiting for the controller"));
  top.model.report("", three());  // a late answer
  CHECK(top.names().empty());
  Json node = node_of("b", 90, 2, 2);
  node["energy_j"] = 5321.0;
  node["workloads"] = Json::array({workload_of("web", "u1", 4, 900), workload_of("db", "u2", 9, 100)});
  top.model.report("b", Json{{"status", {{"mode", "live"}}}, {"node", node}});
  CHECK(top.lines()[1] ==
        "b: up, 90.0 W rapl (idle -), 5.3 kJ since first seen, CPU 2.00 of 8, latency users 11.0 ms | workloads 2 | by "
        "POWER, highest first");
  CHECK(top.lines()[2].find("NODE") == std::string::npos);
  CHECK(top.names() == Names{"default/db", "default/web"});
  CHECK(top.lines()[3].find("9.0 W rapl") != std::string::npos);
  CHECK(top.lines()[3].find("100 J") != std::string::npos);
  top.type("E");
  CHECK(top.names() == Names{"default/web", "default/db"});
  CHECK(top.press(Key::enter) == Then::draw);  // there is no lower level
  CHECK(top.press(Key::escape) == Then::ask);
  CHECK(top.model.node().empty());
  top.model.report("", three());
  CHECK(top.chosen() == "b");
  CHECK(top.press(Key::escape) == Then::draw);
}

TEST_CASE("a controller's error is on the last line, and known values stay") {
  Top top;
  top.model.report("", fail(Errc::unavailable, "tcp://a:1", "no answer", "is it running?"));
  CHECK(top.lines()[0] == "waiting for the controller");
  CHECK(top.lines().back() == "tcp://a:1: no answer (is it running?)");
  top.model.report("", three());
  CHECK(top.lines().back().rfind("q quit", 0) == 0);
  top.model.report("", fail(Errc::unavailable, "tcp://a:1", "no answer", "is it running?"));
  CHECK(top.names().size() == 3);
  CHECK(top.press(Key::enter) == Then::ask);
  CHECK(top.lines().back().rfind("q quit", 0) == 0);
}

TEST_CASE("keys are explained until the next one is pressed") {
  Top top;
  top.size = {40, 120};
  top.model.report("", three());
  top.type("?");
  const auto lines = top.lines();
  CHECK(std::find(lines.begin(), lines.end(), "W               sort by POWER") != lines.end());
  top.press(Key::enter);
  CHECK(top.names().size() == 3);
  top.type("?");
  CHECK(top.type("q") == Then::quit);
}

TEST_CASE("no name sends control sequences to the terminal, and no output is larger than the screen") {
  Top top;
  const std::string bad = "x\x1b[2J\x07\xE2\x80\xAE\xFFy\n\xE4\xB8\xAD\xE6\x96\x87";
  Json node = node_of(bad, 10, 1, 1);
  node["latency"][0]["target"] = bad;
  node["energy_source"] = bad;
  Json document = fleet_of({node, node_of("b", 5, 1, 1)});
  document["status"]["mode"] = bad;
  top.model.report("", document);
  const auto whole = [&] {
    for (const Size size : {Size{24, 80}, Size{1, 1}, Size{0, 0}, Size{3, 7}, Size{5, 300}}) {
      top.size = size;
      const Picture picture = top.model.picture(size);
      CHECK(picture.size() <= size.lines);
      for (const Line& line : picture) {
        const std::string text = text_of(line);
        CHECK(printable(text) == text);
        CHECK(display_width(text) <= size.columns);
      }
    }
  };
  whole();
  top.type("/");
  top.model.press({Key::text, 0x202E});
  top.model.press({Key::text, 0x4E2D});
  whole();
  top.press(Key::enter);
  CHECK(top.press(Key::enter) == Then::ask);
  CHECK(top.model.node() == bad);
  whole();
  top.model.report(bad, fail(Errc::malformed, bad, bad, bad));
  whole();
  Json drilled = node_of(bad, 10, 1, 1);
  drilled["workloads"] =
      Json::array({workload_of(bad, bad, 1, 1), workload_of(nullptr, bad, 1, 1), "no object", nullptr});
  top.model.report(bad, Json{{"status", nullptr}, {"node", drilled}});
  whole();
}

TEST_CASE("documents of another shape are shown as unknown") {
  for (const char* text :
       {"{}", R"({"nodes":null})", R"({"status":[],"nodes":{"a":1}})", R"({"nodes":[1,null,"x",{"name":7}]})"}) {
    Top top;
    top.model.report("", Json::parse(text));
    CHECK(top.lines().size() == 12);
    top.press(Key::down);
    top.type("NCMPWDLA/x");
    CHECK(top.lines().size() == 12);
  }
}
