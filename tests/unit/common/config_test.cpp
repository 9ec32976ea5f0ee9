#include "common/config.hpp"

#include <doctest/doctest.h>

#include <set>

#include "common/dir.hpp"
#include "temp_dir.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::config;

namespace {
struct Options {
  double tick_s = 1;
  int count = 3;
  bool on = false;
  std::string endpoint = "default";
  std::size_t mode = 0;
  std::vector<std::string> targets;
  std::map<std::string, double> weights;
};

Status read(const std::string& text, Options& out) {
  auto document = Document::parse(text, "agent.yaml");
  if (!document) return forward_error(document);
  Section root = document->root();
  root.read("tick", out.tick_s, {.min = 0.1, .max = 60, .unit = Unit::seconds});
  root.read("count", out.count, {.min = 1, .max = 10});
  root.read("on", out.on);
  root.read_choice("mode", out.mode, {"off", "shadow", "live"});
  root.read("targets", out.targets);
  root.read("weights", out.weights, {.min = 0, .max = 1});
  Section controller = root.section("controller");
  controller.read("endpoint", out.endpoint);
  return document->finish();
}

void check_mistake(const std::string& text, const std::string& mistake) {
  Options out;
  const Status status = read(text, out);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::malformed);
  CHECK(status.error().subject == "agent.yaml");
  CAPTURE(status.error().what);
  CHECK(status.error().what.find(mistake) != std::string::npos);
}
}  // namespace

TEST_CASE("present keys are read, and absent ones keep their default") {
  Options out;
  REQUIRE(
      read("tick: 250ms\non: true\nmode: shadow\ntargets: [a, b]\nweights: {energy: 0.5}\n"
           "controller:\n  endpoint: tcp://here:1\n",
           out));
  CHECK(out.tick_s == 0.25);
  CHECK(out.count == 3);
  CHECK(out.on);
  CHECK(out.mode == 1);
  CHECK(out.targets == std::vector<std::string>{"a", "b"});
  CHECK(out.weights.at("energy") == 0.5);
  CHECK(out.endpoint == "tcp://here:1");
  Options untouched;
  REQUIRE(read("", untouched));
  CHECK(untouched.tick_s == 1);
  CHECK(untouched.endpoint == "default");
}

TEST_CASE("a duration needs its unit") {
  for (const auto& [text, seconds] : {std::pair{"250ms", 0.25}, {"2s", 2.0}, {"1m", 60.0}}) {
    Options out;
    REQUIRE(read(std::string("tick: ") + text + "\n", out));
    CHECK(out.tick_s == seconds);
  }
  check_mistake("tick: soon\n", "agent.yaml:1: tick: not a duration (for example 250ms, 1s or 2m)");
  check_mistake("on: true\ntick: 30\n", "agent.yaml:2: tick: 30 has no unit (write 30s for seconds)");
  check_mistake("tick: 0\n", "tick: 0 is out of range");  // zero needs no unit
}

TEST_CASE("each kind of error names file, line, key and fix") {
  check_mistake("count: 3\n\ntock: 1\n", "agent.yaml:3: tock: unknown key (did you mean");
  check_mistake("controller:\n  endpiont: x\n", "agent.yaml:2: controller.endpiont: unknown key");
  check_mistake("count: many\n", "agent.yaml:1: count: not a number (for example 0.5)");
  check_mistake("count: 11\n", "agent.yaml:1: count: 11 is out of range (use 1 to 10)");
  check_mistake("count: 2.5\n", "count: not a whole number");
  check_mistake("tick: 90s\n", "tick: 90 is out of range (use 0.1 to 60 s)");
  check_mistake("on: yes\n", "on: not a boolean (use true or false)");
  check_mistake("mode: fast\n", "mode: unknown value 'fast' (use one of off, shadow, live)");
  check_mistake("targets: a\n", "targets: not a list (for example [a, b])");
  check_mistake("weights:\n  energy: 2\n", "agent.yaml:2: weights.energy: 2 is out of range");
  check_mistake("controller: 5\n", "controller: not a section (put its keys below it)");
}

TEST_CASE("a duplicate key is an error at any place") {
  check_mistake("count: 3\non: true\ncount: 4\n", "agent.yaml:3: count: duplicate of line 1 (remove one of the two)");
  check_mistake("controller:\n  endpoint: a\n  endpoint: b\n",
                "agent.yaml:3: controller.endpoint: duplicate of line 2");
  check_mistake("weights: {energy: 0.5, energy: 1}\n", "agent.yaml:1: weights.energy: duplicate of line 1");
  check_mistake("targets: [a, {x: 1, y: {z: 1, z: 2}}]\n", "agent.yaml:1: targets[1].y.z: duplicate of line 1");
  Options out;
  CHECK(read("targets: [count, count]\ncontroller:\n  endpoint: count\ncount: 4\n", out));
}

TEST_CASE("a second document is an error; markers around a single one are not") {
  const std::string what = "a second document, which would be ignored (remove the line '---' above)";
  check_mistake("count: 3\n---\non: true\n", "agent.yaml:3: " + what);
  check_mistake("count: 3\n...\n---\n# c\n\non: true\n", "agent.yaml:6: " + what);
  check_mistake("---\n---\ncount: 3\n", "agent.yaml:3: " + what);
  check_mistake("count: 3\n--- [a]\n", "agent.yaml:2: " + what);
  for (const char* text :
       {"---\ncount: 4\n", "count: 4\n---\n", "--- # a\ncount: 4\n...\n", "count: 4\n---\n---\n# c\n"}) {
    Options out;
    CHECK_MESSAGE(read(text, out), text);
    CHECK(out.count == 4);
  }
}

TEST_CASE("the search for duplicate keys does not follow endless or repeated aliases") {
  std::string text = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i)
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + ", *a" +
            std::to_string(i - 1) + "]\n";
  check_mistake(text + "count: 1\ncount: 2\n", "count: duplicate of line 41");
}

TEST_CASE("all errors are reported at once, in the order of their lines") {
  Options out;
  const Status status = read("count: 99\nnonsense: 1\nmode: fast\ntick: 0\n", out);
  REQUIRE_FALSE(status);
  const std::string& what = status.error().what;
  CHECK(what.starts_with("4 errors\n"));
  CHECK(what.find(":1: count") < what.find(":2: nonsense"));
  CHECK(what.find(":2: nonsense") < what.find(":3: mode"));
  CHECK(what.find(":3: mode") < what.find(":4: tick"));
  CHECK(out.count == 3);
}

TEST_CASE("a missing required key and a caller's own error are reported") {
  auto document = Document::parse("a: 1\n", "x.yaml");
  REQUIRE(document);
  Section root = document->root();
  std::string text;
  double number = 0;
  root.read("name", text, true);
  root.read("size", number, {.required = true});
  root.read("a", number);
  root.mistake("a", "clashes with b", "drop one");
  const Status status = document->finish();
  REQUIRE_FALSE(status);
  CHECK(status.error().what.find("name: missing (set it)") != std::string::npos);
  CHECK(status.error().what.find("size: missing (set it)") != std::string::npos);
  CHECK(status.error().what.find("x.yaml:1: a: clashes with b (drop one)") != std::string::npos);
}

TEST_CASE("each section in a list is checked") {
  auto document = Document::parse("probes:\n  - name: a\n  - name: b\n    nam: c\n", "x.yaml");
  REQUIRE(document);
  auto probes = document->root().sections("probes");
  REQUIRE(probes.size() == 2);
  std::vector<std::string> names;
  for (auto& probe : probes) probe.read("name", names.emplace_back());
  CHECK(names == std::vector<std::string>{"a", "b"});
  CHECK(document->finish().error().what.find("x.yaml:4: probes[1].nam: unknown key") != std::string::npos);
}

TEST_CASE("text that is not YAML, or not a map, is refused with its position") {
  CHECK(Document::parse("a: [1\n", "x.yaml").error().subject.starts_with("x.yaml:"));
  CHECK(Document::parse("- a\n- b\n", "x.yaml").error().what == "the top level is not a map");
  const wattle::test::TempDir temp;
  CHECK(Document::load(temp.file("none.yaml")).error().code == Errc::not_found);
  REQUIRE(write_file_atomically(temp.file("some.yaml"), "a: 1\n"));
  CHECK(Document::load(temp.file("some.yaml")));
}

TEST_CASE("a document lists the requested keys, in order and once, with their defaults") {
  auto document = Document::parse("probes: [{name: a}, {name: b}]\nport: 7", "f");
  REQUIRE(document);
  Section root = document->root();
  double interval_s = 2;
  int port = -1;
  std::string name = "x";
  root.read("interval", interval_s, {.min = 1, .max = 60, .unit = Unit::seconds});
  root.read("port", port, {.min = 0, .max = 65535});
  for (auto& probe : root.sections("probes")) probe.read("name", name, true);
  const auto keys = document->keys();
  REQUIRE(keys.size() == 3);
  CHECK(keys[0].path == "interval");
  CHECK(keys[0].kind == "time");
  CHECK(keys[0].range == "1 to 60 s");
  CHECK(keys[0].standing == "2s");
  CHECK(keys[1].standing.empty());  // out of its own range: there is no default
  CHECK(keys[2].path == "probes[].name");
  CHECK(keys[2].required);
}
