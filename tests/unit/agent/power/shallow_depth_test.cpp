// shallow_depth: a node always gets its own settings back. All files are in an injected tree.
#include "agent/power/shallow_depth.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <memory>
#include <set>

#include "agent/power/energy_settings.hpp"
#include "common/parse.hpp"
#include "energy_tree.hpp"
#include "tests/unit/common/log_lines.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace wattle::agent::test;
using namespace std::chrono_literals;

namespace {

using Settings = std::map<std::string, std::string>;
const Settings kLow{{kPolicy0, "power"}, {kPolicy1, "power"}, {kPackage, "45000000"}};

struct ShallowNode {
  wattle::test::TempDir dir;
  EnergyTree tree{dir.path()};
  ManualClock clock;
  Log log = Log::silent();
  std::set<std::string> refused;  // below sys
  std::string state_dir = tree.state_dir();
  const Settings own = tree.settings();
  std::unique_ptr<ShallowDepth> depth;

  ShallowNode() { start(); }
  // Stores a value as a kernel driver does. A package's unit is an eighth of a watt.
  Status write(const std::string& path, std::string_view value) {
    for (const std::string& name : refused)
      if (tree.path(name) == path) return fail_errno(EROFS, path);
    if (!std::filesystem::exists(path)) return fail_errno(ENOENT, path);
    const auto limit_uw = parse::u64(value);
    if (path != tree.path(kPackage) || !limit_uw) return write_setting(path, value);
    return write_setting(path, std::to_string(*limit_uw / 125'000 * 125'000));
  }
  void start() {
    depth = std::make_unique<ShallowDepth>(
        Roots::below(dir.path()), state_dir, clock, log,
        [this](const std::string& path, std::string_view value) { return write(path, value); });
  }
  // Ends the process without its last steps, and starts the next one.
  void kill() {
    const Settings files = tree.settings();
    const bool had = std::filesystem::exists(tree.journal());
    const std::string kept = had ? read_file(tree.journal()).value() : "";
    const std::set<std::string> all{kPolicy0, kPolicy1, kPackage};
    const std::set<std::string> before = std::exchange(refused, all);
    depth.reset();
    for (const auto& [name, value] : files)
      if (!value.empty()) tree.put(name, value + "\n");
    if (had) EnergyTree::write(tree.journal(), kept);
    refused = before;
  }
  void pass(Duration time) {
    clock.advance(time);
    depth->step();
  }
};

}  // namespace

TEST_CASE_FIXTURE(ShallowNode, "an idle node has the lowest settings for the time of the order, and then its own") {
  depth->used(0.1, 32);
  REQUIRE(depth->enter(3min));
  CHECK(tree.settings() == kLow);
  CHECK(std::filesystem::exists(tree.journal()));
  pass(2min);
  REQUIRE(depth->enter(3min));
  pass(2min);
  CHECK(tree.settings() == kLow);
  pass(1min);
  CHECK_FALSE(depth->active());
  CHECK(tree.settings() == own);
  CHECK_FALSE(std::filesystem::exists(tree.journal()));
}

TEST_CASE_FIXTURE(ShallowNode, "half a core more ends the depth at once, and five minutes pass before the next time") {
  depth->used(0.4, 32);
  REQUIRE(depth->enter(3min));
  depth->used(0.9, 32);
  CHECK(depth->active());
  depth->used(0.91, 32);
  CHECK(tree.settings() == own);
  depth->used(0.1, 32);
  pass(4min);
  CHECK(depth->enter(3min).error().code == Errc::conflict);
  pass(1min);
  CHECK(depth->enter(3min));
}

TEST_CASE_FIXTURE(ShallowNode, "a node that uses more than half a core and a twentieth of its cores is not idle") {
  depth->used(0.6, 8);
  CHECK(depth->enter(3min).error().code == Errc::conflict);
  CHECK(tree.settings() == own);
  depth->used(1.5, 32);
  CHECK(depth->enter(3min));
}

TEST_CASE_FIXTURE(ShallowNode, "an agent restores the settings at its end, and after a kill at its next start") {
  REQUIRE(depth->enter(3min));
  depth.reset();
  CHECK(tree.settings() == own);
  start();
  REQUIRE(depth->enter(3min));
  kill();
  CHECK(tree.settings() == kLow);
  start();
  CHECK(tree.settings() == own);
  CHECK_FALSE(std::filesystem::exists(tree.journal()));
}

TEST_CASE_FIXTURE(ShallowNode, "no setting changes before the journal is on disk") {
  depth.reset();
  EnergyTree::write(dir.file("file"), "");
  state_dir = dir.file("file") + "/state";
  start();
  const Status entered = depth->enter(3min);
  REQUIRE_FALSE(entered);
  CHECK(entered.error().message().find(state_dir) != std::string::npos);
  CHECK(tree.settings() == own);
}

TEST_CASE_FIXTURE(ShallowNode, "after a boot that reset the settings, they keep the values of the boot") {
  REQUIRE(depth->enter(3min));
  kill();
  tree.boot("b1");
  const Settings reset{{kPolicy0, "performance"}, {kPolicy1, "balance_power"}, {kPackage, "95000000"}};
  for (const auto& [name, value] : reset) tree.put(name, value + "\n");
  start();
  CHECK(tree.settings() == reset);
  CHECK_FALSE(std::filesystem::exists(tree.journal()));
}

TEST_CASE_FIXTURE(ShallowNode, "after a boot that did not reset the settings (kexec), they are restored once") {
  REQUIRE(depth->enter(3min));
  kill();
  tree.boot("b1");
  refused = {kPolicy1};
  start();
  CHECK(tree.settings() == Settings{{kPolicy0, own.at(kPolicy0)}, {kPolicy1, "power"}, {kPackage, own.at(kPackage)}});
  CHECK_FALSE(std::filesystem::exists(tree.journal()));
}

TEST_CASE_FIXTURE(ShallowNode, "a setting that another program changes in the meantime keeps that value") {
  REQUIRE(depth->enter(3min));
  tree.put(kPolicy1, "performance\n");
  tree.put(kPackage, "80000000\n");
  REQUIRE(depth->enter(3min));
  const Settings theirs{{kPolicy0, own.at(kPolicy0)}, {kPolicy1, "performance"}, {kPackage, "80000000"}};
  SUBCASE("when the time is over") { pass(3min); }
  SUBCASE("after a crash") {
    kill();
    start();
  }
  CHECK(tree.settings() == theirs);
  CHECK_FALSE(std::filesystem::exists(tree.journal()));
}

TEST_CASE_FIXTURE(ShallowNode, "a limit that the kernel rounded is still the agent's, and is restored") {
  tree.put(kPackage, "89875000\n");
  REQUIRE(depth->enter(3min));
  CHECK(tree.get(kPackage) == "44875000");
  depth->leave("test");
  CHECK(tree.get(kPackage) == "89875000");
}

TEST_CASE_FIXTURE(ShallowNode, "a setting that could not be restored is not lowered again before it is") {
  REQUIRE(depth->enter(3min));
  refused = {kPackage};
  depth->leave("test");
  CHECK(tree.get(kPackage) == "45000000");
  REQUIRE(depth->enter(3min));
  CHECK(tree.get(kPackage) == "45000000");
  refused.clear();
  depth->leave("test");
  CHECK(tree.settings() == own);
}

TEST_CASE_FIXTURE(ShallowNode,
                  "read-only files refuse the depth with the file's name; if only some are, the others are lowered") {
  refused = {kPolicy0, kPolicy1, kPackage};
  const Status entered = depth->enter(3min);
  REQUIRE_FALSE(entered);
  CHECK(entered.error().subject == tree.path(kPackage));
  CHECK_FALSE(std::filesystem::exists(tree.journal()));
  refused = {kPackage};
  REQUIRE(depth->enter(3min));
  CHECK(tree.settings() == Settings{{kPolicy0, "power"}, {kPolicy1, "power"}, {kPackage, "90000000"}});
  depth->leave("test");
  CHECK(tree.settings() == own);
}

TEST_CASE_FIXTURE(ShallowNode, "a machine without such settings or without a boot ID is never shallow") {
  tree.remove("class");
  tree.remove("devices");
  CHECK(depth->enter(3min).error().code == Errc::unsupported);
  depth.reset();
  const EnergyTree again(dir.path());
  std::filesystem::remove(dir.file("proc/sys/kernel/random/boot_id"));
  start();
  CHECK(depth->enter(3min).error().code == Errc::not_found);
  CHECK(tree.settings() == own);
}

TEST_CASE_FIXTURE(ShallowNode, "a CPU that went offline gets its own setting back once it is online") {
  REQUIRE(depth->enter(3min));
  tree.remove("devices/system/cpu/cpufreq/policy1");
  depth->leave("test");
  CHECK(tree.get(kPolicy0) == own.at(kPolicy0));
  CHECK(std::filesystem::exists(tree.journal()));
  kill();
  tree.put("devices/system/cpu/cpufreq/policy1/energy_performance_available_preferences", "performance power\n");
  start();
  tree.put(kPolicy1, "power\n");
  pass(kTryAgain);
  CHECK(tree.settings() == own);
  CHECK_FALSE(std::filesystem::exists(tree.journal()));
}

TEST_CASE_FIXTURE(ShallowNode, "an invalid journal changes no setting and is named in the log") {
  depth.reset();
  EnergyTree::write(tree.journal(), "b0\n../../etc/passwd x\n");
  const auto lines = wattle::test::lines_of([&] {
    log = Log("test", LogLevel::info, LogFormat::json);
    start();
    log = Log::silent();
  });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("node_shallow.journal") != std::string::npos);
  CHECK(lines[0].find(tree.journal()) != std::string::npos);
  const Status entered = depth->enter(3min);
  REQUIRE_FALSE(entered);
  CHECK(entered.error().subject == tree.journal());
  CHECK(tree.settings() == own);
  CHECK(read_file(tree.journal()).value() == "b0\n../../etc/passwd x\n");
}

namespace {

// A node under random events, and its expected settings without the agent.
struct RandomNode : ShallowNode {
  Settings expected = own;
  std::string offline;  // the value of policy1 while its CPU is offline
  int boots = 0;

  void online() {
    if (!offline.empty()) tree.put(kPolicy1, std::exchange(offline, "") + "\n");
  }
  void hotplug() {
    if (!offline.empty()) return online();
    offline = tree.get(kPolicy1);
    tree.remove(kPolicy1);
  }
  void foreign_write() {
    const std::string name = *rc::gen::element<std::string>(kPolicy0, kPolicy1, kPackage);
    if (name == kPolicy1 && !offline.empty()) return;
    expected[name] = name == kPackage ? *rc::gen::element<std::string>("95000000", "89875000", "70000000", "4095875000")
                                      : *rc::gen::element<std::string>("performance", "balance_power", "64");
    tree.put(name, expected[name] + "\n");
  }
  void reboot() {
    kill();
    online();
    tree.boot("b" + std::to_string(++boots));
    expected = own;
    for (const auto& [name, value] : own) tree.put(name, value + "\n");
    start();
  }
  void event() {
    switch (*rc::gen::inRange(0, 11)) {
      case 0:
      case 1:
      case 2:
        return static_cast<void>(depth->enter(*rc::gen::inRange(1, 300) * 1s));
      case 3:
        return depth->leave("test");
      case 4:
        return depth->used(*rc::gen::element(0.0, 0.3, 3.0), 32);
      case 5:
        return pass(*rc::gen::inRange(0, 400) * 1s);
      case 6:
        kill();
        return start();
      case 7:
        depth.reset();
        return start();
      case 8:
        refused = *rc::gen::element(std::set<std::string>{}, std::set<std::string>{kPackage},
                                    std::set<std::string>{kPolicy0, kPolicy1, kPackage});
        return;
      case 9:
        return hotplug();
      default:
        *rc::gen::inRange(0, 4) == 0 ? reboot() : foreign_write();
    }
  }
  void end() {
    online();
    refused.clear();
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        depth->leave("test");
        return pass(kTryAgain);
      case 1:
        kill();
        return start();
      default:
        depth.reset();
    }
  }
};

}  // namespace

TEST_CASE("after any orders, load, kills, boots, hotplugs, refused and foreign writes, each setting is its owner's") {
  CHECK(rc::check([] {
    RandomNode node;
    for (int step = *rc::gen::inRange(1, 30); step > 0; --step) node.event();
    node.end();
    RC_ASSERT(node.tree.settings() == node.expected);
    RC_ASSERT(!std::filesystem::exists(node.tree.journal()));
  }));
}

TEST_CASE("a kill at any write leaves what the next start needs") {
  for (int at = 0; at < 8; ++at) {
    CAPTURE(at);
    ShallowNode node;
    int left = at;
    bool killed = false;
    Settings files;
    std::string journal;
    const auto look = [&] {
      if (killed || left-- > 0) return;
      killed = true;
      files = node.tree.settings();
      journal = read_file(node.tree.journal()).value();
    };
    node.depth = std::make_unique<ShallowDepth>(Roots::below(node.dir.path()), node.state_dir, node.clock, node.log,
                                                [&](const std::string& path, std::string_view value) {
                                                  look();
                                                  return node.write(path, value);
                                                });
    REQUIRE(node.depth->enter(3min));
    node.depth.reset();
    if (at >= 6) {  // three writes to lower, and three to restore
      CHECK_FALSE(killed);
      continue;
    }
    REQUIRE(killed);
    for (const auto& [name, value] : files) node.tree.put(name, value + "\n");
    EnergyTree::write(node.tree.journal(), journal);
    node.start();
    CHECK(node.tree.settings() == node.own);
  }
}
