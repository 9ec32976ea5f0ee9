// The agent's side of a sleep: a real session over real sockets, a scripted controller, and a login manager on a D-Bus
// of its own.
#include "agent/power/node_sleep.hpp"

#include <doctest/doctest.h>

#include "clock_tree.hpp"
#include "energy_tree.hpp"
#include "fake_logind.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/transport/session_rig.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace wattle::agent::test;
using namespace std::chrono_literals;
using transport::testing::at;
using transport::testing::eventually;
using transport::testing::welcome;

namespace {

SleepConfig allowed() {
  SleepConfig config;
  config.sleep = true;
  return config;
}

struct Asleep {
  wattle::test::TempDir dir;
  FakeLogind logind{dir.path()};
  ClockTree tree{dir.path()};
  EnergyTree energy{dir.path()};
  transport::testing::Rig rig;
  Duration suspended{};
  NodeSleep following;

  explicit Asleep(SleepConfig config = allowed())
      : following(
            std::move(config), Roots::below(dir.path()), dir.path() + "/state", [this] { return suspended; }, rig.clock,
            rig.world.log) {
    rig.greet(welcome(100, 100));
  }
  void step() {
    rig.step();
    following.step(*rig.session);
  }
  template <class T>
  std::optional<T> next() {
    std::optional<T> found;
    eventually([&] {
      for (auto it = rig.got.begin(); it != rig.got.end() && !found; ++it)
        if (auto* message = std::get_if<T>(&*it)) {
          found = *message;
          rig.got.erase(it);
          break;
        }
      if (!found) step();
      return found.has_value();
    });
    return found;
  }
  void greet() {
    REQUIRE(next<wire::Hello>());
    rig.say(welcome(100, 100));
    REQUIRE(eventually([&] {
      step();
      return rig.session->status().welcomed;
    }));
  }
  void order(std::uint64_t operation, bool granted, bool by_agent = true, const std::string& depth = "suspend",
             std::uint64_t wake_after_s = 0) {
    rig.say(wire::SleepOrder{operation, depth, by_agent, granted, wake_after_s});
  }
  // Sends a Ping and waits for its answer, so everything said before it has been received, and later messages follow
  // the answer.
  void settle() {
    rig.say(wire::Ping{++nonce_, 0});
    for (;;) {
      const auto pong = next<wire::Pong>();
      REQUIRE(pong);
      if (pong->nonce == nonce_) break;
    }
    step();
  }
  // Passes time with a controller that answers.
  void pass(Duration time) {
    for (Duration passed{}; passed < time; passed += 2s) {
      rig.clock.advance(2s);
      settle();
    }
    settle();
  }
  wire::Goodbye goodbye() {
    const auto said = next<wire::Goodbye>();
    REQUIRE(said);
    return *said;
  }
  bool is_silent() {
    rig.got.clear();
    rig.clock.advance(10s);
    for (int i = 0; i < 20; ++i) step();
    return rig.got.empty();
  }
  void grant(std::uint64_t operation, bool by_agent = true, const std::string& depth = "suspend",
             std::uint64_t wake_after_s = 0) {
    order(operation, true, by_agent, depth, wake_after_s);
    REQUIRE(eventually([&] {
      step();
      return rig.session->silent();
    }));
  }

 private:
  std::uint64_t nonce_ = 1000;
};

}  // namespace

TEST_CASE("the goodbye follows the acknowledgement of all records; later records wait until the node has slept") {
  Asleep node;
  node.rig.fill(1, 3);
  REQUIRE(node.next<wire::Samples>());
  node.order(7, false);
  node.settle();
  node.rig.fill(4, 4);
  node.settle();
  CHECK(node.rig.take<wire::Goodbye>().empty());
  node.rig.say(wire::Ack{2, 2, 100});
  node.settle();
  CHECK(node.rig.take<wire::Goodbye>().empty());
  node.rig.say(wire::Ack{2, 3, 100});
  const wire::Goodbye goodbye = node.goodbye();
  CHECK(goodbye.operation == 7);
  CHECK(goodbye.refused.empty());
  node.settle();
  CHECK(node.rig.seqs().empty());
  CHECK(node.logind.ordered().empty());
  node.grant(7);
  CHECK(node.logind.ordered() == std::vector<std::string>{"Suspend"});
  CHECK(node.is_silent());
  node.suspended = 1h;
  node.greet();
  node.settle();
  CHECK(node.rig.seqs() == std::vector<std::uint64_t>{4});
  CHECK(node.rig.take<wire::Goodbye>().empty());
}

TEST_CASE("a repeated order is answered again and puts the node to sleep once") {
  Asleep node;
  node.order(7, false);
  node.order(7, false);
  CHECK(node.goodbye().operation == 7);
  node.settle();
  node.order(7, false);
  CHECK(node.goodbye().refused.empty());
  node.grant(7);
  node.order(7, true);
  CHECK(node.is_silent());
  CHECK(node.logind.ordered().size() == 1);
}

TEST_CASE("a grant with another number or for another sleep is an order of its own") {
  Asleep node;
  node.order(7, false);
  CHECK(node.goodbye().operation == 7);
  node.order(8, true);
  CHECK(node.goodbye().operation == 8);
  node.settle();
  CHECK(node.logind.ordered().empty());
  node.order(8, true, true, "off");
  CHECK(node.goodbye().operation == 8);
  node.settle();
  CHECK(node.logind.ordered().empty());
  node.grant(8, true, "off");
  CHECK(node.logind.ordered() == std::vector<std::string>{"PowerOff"});
}

TEST_CASE("a controller that restarts between goodbye and grant gets a new goodbye first") {
  Asleep node;
  node.order(7, false);
  CHECK(node.goodbye().operation == 7);
  node.rig.server.reset();
  REQUIRE(eventually([&] {
    node.step();
    return !node.rig.session->status().welcomed;
  }));
  node.rig.got.clear();
  node.rig.listen(node.rig.endpoint);
  node.rig.clock.advance(5s);
  node.greet();
  node.order(7, true);
  CHECK(node.goodbye().operation == 7);
  CHECK(node.logind.ordered().empty());
  node.grant(7);
  CHECK(node.logind.ordered().size() == 1);
}

TEST_CASE("records that are not acknowledged in time refuse the sleep, and are sent again") {
  Asleep node;
  node.rig.fill(1, 3);
  REQUIRE(node.next<wire::Samples>());
  node.order(7, false);
  node.settle();
  node.rig.fill(4, 4);
  node.pass(kFlushPatience);
  const wire::Goodbye goodbye = node.goodbye();
  CHECK(goodbye.operation == 7);
  CHECK(goodbye.refused.find("not acknowledged") != std::string::npos);
  node.settle();
  CHECK(node.rig.seqs() == std::vector<std::uint64_t>{4});
}

TEST_CASE("the agent refuses a sleep without power.sleep, or at an unknown or forbidden depth") {
  Asleep off{SleepConfig{}};
  off.order(7, false);
  CHECK(off.goodbye().refused.find("power.sleep") != std::string::npos);

  SleepConfig config = allowed();
  config.depths = {SleepDepth::suspend};
  Asleep node{config};
  node.order(7, false, true, "off");
  CHECK(node.goodbye().refused.find("power.depths") != std::string::npos);
  node.order(8, false, true, std::string(4000, 'x'));
  const wire::Goodbye unknown = node.goodbye();
  CHECK(unknown.operation == 8);
  CHECK(unknown.refused.find("unknown") != std::string::npos);
  CHECK(unknown.refused.size() <= wire::Goodbye::kMaxRefusedBytes);
  node.rig.fill(1, 1);
  CHECK(node.next<wire::Samples>());
  CHECK(node.logind.ordered().empty());
}

TEST_CASE("if a driver of the controller puts the node to sleep, the agent only says goodbye and is silent") {
  Asleep node{SleepConfig{}};
  node.logind.stop();
  node.order(7, false, false, "off");
  CHECK(node.goodbye().refused.empty());
  node.grant(7, false, "off");
  CHECK(node.is_silent());
  CHECK(node.logind.ordered().empty());
  node.suspended = 2s;
  node.greet();
}

TEST_CASE("an inhibitor refuses the sleep with its holder's name, also if it is taken after the goodbye") {
  Asleep node;
  node.logind.inhibit({{"sleep", "back\x1bup", std::string(3000, 'y'), "block"}});
  node.order(7, false);
  const wire::Goodbye first = node.goodbye();
  CHECK(first.refused.find("back?up") != std::string::npos);
  CHECK(first.refused.size() == wire::Goodbye::kMaxRefusedBytes);
  node.logind.inhibit({});
  node.order(8, false);
  CHECK(node.goodbye().refused.empty());
  node.logind.inhibit({{"sleep", "backup", "runs", "block"}});
  node.order(8, true);
  CHECK(node.goodbye().refused.find("backup") != std::string::npos);
  node.rig.fill(1, 1);
  CHECK(node.next<wire::Samples>());
  CHECK(node.logind.ordered().empty());
}

TEST_CASE("a suspend that logind denies, or a missing logind, ends the sleep with the reason") {
  Asleep node;
  node.order(7, false);
  CHECK(node.goodbye().refused.empty());
  node.logind.error("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired");
  node.order(7, true);
  const wire::Goodbye denied = node.goodbye();
  CHECK(denied.operation == 7);
  CHECK(denied.refused.find("polkit") != std::string::npos);
  node.logind.stop();
  node.order(8, false);
  CHECK(node.goodbye().refused.find("logind") != std::string::npos);
  CHECK(node.rig.session->status().welcomed);
}

TEST_CASE("an order that logind does not answer in time may have taken effect, and counts as started") {
  Asleep node;
  node.logind.error("never");
  node.order(7, false, true, "off");
  REQUIRE(node.goodbye().refused.empty());
  node.grant(7, true, "off");
  CHECK(node.logind.ordered() == std::vector<std::string>{"PowerOff"});
  CHECK(node.is_silent());
}

TEST_CASE("a node that does not go to sleep resumes after a timeout with the reason") {
  Asleep node;
  node.order(7, false);
  node.goodbye();
  node.grant(7);
  CHECK(node.is_silent());
  node.rig.clock.advance(kSleepPatience);
  node.greet();
  const wire::Goodbye missed = node.goodbye();
  CHECK(missed.operation == 7);
  CHECK(missed.refused.find("not gone to sleep") != std::string::npos);
}

TEST_CASE("a goodbye that is never granted holds records back only for a while") {
  Asleep node;
  node.order(7, false, true, "suspend", 600);
  node.goodbye();
  CHECK(node.tree.alarm() == "1700000600\n");
  node.rig.fill(1, 1);
  node.pass(30s);
  CHECK(node.rig.seqs().empty());
  node.pass(kGrantPatience);
  CHECK(node.rig.seqs() == std::vector<std::uint64_t>{1});
  CHECK(node.tree.alarm() == "0\n");
  node.order(7, true, true, "suspend", 600);
  node.settle();
  CHECK(node.logind.ordered().empty());
}

TEST_CASE("a cancelled order ends the wait for a grant at once; one with another number changes nothing") {
  Asleep node;
  node.order(7, false, false, "off");
  node.goodbye();
  node.rig.fill(1, 1);
  node.order(6, false, false, std::string(kCancelled));
  node.settle();
  CHECK(node.rig.seqs().empty());
  node.order(7, false, false, std::string(kCancelled));
  CHECK(node.next<wire::Samples>());
  node.settle();
  CHECK(node.rig.take<wire::Goodbye>().empty());
  CHECK(node.rig.session->status().welcomed);
}

TEST_CASE("a node that a driver suspends before the grant arrives starts a new session once it is awake") {
  Asleep node;
  node.order(7, false, false);
  node.goodbye();
  node.suspended = 1h;
  node.greet();
  node.rig.fill(1, 1);
  CHECK(node.next<wire::Samples>());
}

TEST_CASE("the clock's alarm is set from the goodbye until the node is awake again") {
  Asleep node;
  node.order(7, false, true, "suspend", 600);
  node.goodbye();
  CHECK(node.tree.alarm() == "1700000600\n");
  node.tree.put("since_epoch", "1700000010\n");
  node.grant(7, true, "suspend", 600);
  CHECK(node.is_silent());
  CHECK(node.tree.alarm() == "1700000610\n");
  node.suspended = 10min;
  node.greet();
  CHECK(node.tree.alarm() == "0\n");
}

TEST_CASE("a node whose clock cannot wake it does not sleep if the order needs an alarm") {
  Asleep node;
  node.tree.put("device/power/wakeup", "disabled\n");
  node.order(7, false, true, "suspend", 600);
  CHECK(node.goodbye().refused.find("wakeup") != std::string::npos);
  node.order(8, false);
  CHECK(node.goodbye().refused.empty());
}

SleepConfig with_shallow() {
  SleepConfig config = allowed();
  config.shallow = true;
  return config;
}

void make_shallow(Asleep& node) {
  node.order(0, false, true, "shallow", 180);
  node.settle();
  REQUIRE(node.energy.get(kPolicy0) == "power");
}

TEST_CASE("a shallow order lowers the node's energy settings without a goodbye, and another order ends it first") {
  Asleep node(with_shallow());
  const EnergyTree& energy = node.energy;
  const auto own = energy.settings();
  make_shallow(node);
  CHECK(node.rig.take<wire::Goodbye>().empty());
  node.order(0, false, true, "shallow", 0);
  node.settle();
  CHECK(energy.settings() == own);
  make_shallow(node);
  node.following.used(3.0, 32.0);
  CHECK(energy.settings() == own);
  node.following.used(0.1, 32.0);
  node.pass(kQuiet);
  make_shallow(node);
  node.order(8, false);
  CHECK(node.goodbye().refused.empty());
  CHECK(energy.settings() == own);
}

TEST_CASE("a shallow node that loses its controller restores its own settings") {
  Asleep node(with_shallow());
  const EnergyTree& energy = node.energy;
  const auto own = energy.settings();
  make_shallow(node);
  for (int i = 0; i < 60 && node.rig.session->status().welcomed; ++i) {
    node.rig.clock.advance(2s);
    node.step();
  }
  REQUIRE_FALSE(node.rig.session->status().welcomed);
  CHECK(energy.settings() == own);
}

TEST_CASE("a shallow order for a long time is limited to five minutes") {
  SleepConfig config = allowed();
  config.shallow = true;
  Asleep node(config);
  const EnergyTree& energy = node.energy;
  const auto own = energy.settings();
  node.order(0, false, true, "shallow", 1'000'000);
  node.settle();
  node.pass(4min);
  CHECK(energy.get(kPolicy0) == "power");
  node.pass(1min);
  CHECK(energy.settings() == own);
}

TEST_CASE("a shallow order changes nothing on a node whose configuration does not list that depth") {
  Asleep node;
  const EnergyTree& energy = node.energy;
  const auto own = energy.settings();
  node.order(0, false, true, "shallow", 180);
  node.settle();
  CHECK(energy.settings() == own);
  CHECK(node.rig.take<wire::Goodbye>().empty());
}
