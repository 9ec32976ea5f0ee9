#include "agent/power/logind.hpp"

#include <doctest/doctest.h>

#include "agent/power/sleep_findings.hpp"
#include "clock_tree.hpp"
#include "fake_logind.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace wattle::agent::test;

namespace {
struct OnBus {
  wattle::test::TempDir dir;
  FakeLogind logind{dir.path()};
  Logind client{logind.socket(), tests::late()};
};
}  // namespace

TEST_CASE("suspend and power off reach logind by their own methods") {
  OnBus on;
  CHECK(on.client.check(SleepDepth::suspend));
  CHECK(on.client.check(SleepDepth::off));
  CHECK(on.logind.ordered().empty());
  CHECK(on.client.sleep(SleepDepth::suspend));
  CHECK(on.client.sleep(SleepDepth::off));
  CHECK(on.logind.ordered() == std::vector<std::string>{"Suspend", "PowerOff"});
}

TEST_CASE("an inhibitor that blocks the depth is named; delaying ones and those of other actions do not block") {
  OnBus on;
  on.logind.inhibit({{"sleep", "NetworkManager", "tidies up", "delay"}, {"idle:handle-lid-switch", "a", "b", "block"}});
  CHECK(on.client.check(SleepDepth::suspend));
  on.logind.inhibit({{"idle:sleep", "backup", "a backup runs", "block"}});
  const Status blocked = on.client.check(SleepDepth::suspend);
  REQUIRE_FALSE(blocked);
  CHECK(blocked.error().code == Errc::conflict);
  CHECK(blocked.error().message().find("backup") != std::string::npos);
  CHECK(blocked.error().message().find("a backup runs") != std::string::npos);
  CHECK(blocked.error().message().find("4711") != std::string::npos);
  CHECK(on.client.check(SleepDepth::off));
  on.logind.inhibit({{"shutdown", "apt", "upgrades", "block"}});
  CHECK(on.client.check(SleepDepth::suspend));
  CHECK(on.client.check(SleepDepth::off).error().code == Errc::conflict);
}

TEST_CASE("a missing sleep state and a missing right are different errors with different fixes") {
  OnBus on;
  on.logind.can("CanSuspend", "na");
  CHECK(on.client.check(SleepDepth::suspend).error().code == Errc::unsupported);
  CHECK(on.client.check(SleepDepth::suspend).error().fix.find("BIOS") != std::string::npos);
  for (const char* answer : {"no", "challenge"}) {
    on.logind.can("CanSuspend", answer);
    CHECK(on.client.check(SleepDepth::suspend).error().code == Errc::denied);
    CHECK(on.client.check(SleepDepth::suspend).error().fix.find("polkit") != std::string::npos);
  }
  on.logind.error("org.freedesktop.DBus.Error.AccessDenied");
  CHECK(on.client.sleep(SleepDepth::off).error().code == Errc::denied);
  on.logind.error("org.freedesktop.login1.OperationInProgress");
  CHECK(on.client.sleep(SleepDepth::off).error().code == Errc::conflict);
  CHECK(on.logind.ordered().empty());
}

TEST_CASE("a missing bus, a missing logind and a logind that does not answer are errors") {
  wattle::test::TempDir none;
  const Status no_bus = Logind(none.path() + "/no bus").check(SleepDepth::suspend);
  REQUIRE_FALSE(no_bus);
  CHECK(no_bus.error().code == Errc::unavailable);
  CHECK(no_bus.error().subject == none.path() + "/no bus");

  OnBus on;
  on.logind.can("CanSuspend", "never");
  CHECK(Logind(on.logind.socket(), std::chrono::milliseconds(50)).check(SleepDepth::suspend).error().code ==
        Errc::timeout);
  on.logind.stop();
  CHECK(on.client.check(SleepDepth::suspend).error().code == Errc::unavailable);
}

TEST_CASE("doctor reports sleep only if it is enabled, and then each part with its fix") {
  OnBus on;
  AgentConfig config;
  config.roots = Roots::below(on.dir.path());
  CHECK(examine_sleep(config).empty());
  config.power.sleep = true;
  const ClockTree tree(on.dir.path());
  auto findings = examine_sleep(config);
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].ok);
  CHECK(findings[0].why == "suspend and off");
  CHECK(findings[1].ok);
  CHECK_FALSE(findings[2].ok);
  CHECK(findings[2].fix.find("ethtool") != std::string::npos);
  on.logind.can("CanSuspend", "na");
  on.logind.inhibit({{"shutdown", "apt", "upgrades", "block"}});
  std::filesystem::remove(tree.path("wakealarm"));
  findings = examine_sleep(config);
  CHECK_FALSE(findings[0].ok);
  CHECK(findings[0].why.find("no such sleep state") != std::string::npos);
  CHECK(findings[1].absent);
}
