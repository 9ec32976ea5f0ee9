#include "agent/power/rtc_alarm.hpp"

#include <doctest/doctest.h>

#include "agent/power/wake_on_lan.hpp"
#include "clock_tree.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace wattle::agent::test;

namespace {
struct Machine {
  wattle::test::TempDir dir;
  ClockTree tree{dir.path()};
  RtcAlarm alarm{dir.path() + "/sys"};
};
}  // namespace

TEST_CASE("an alarm is set relative to the clock's own time, set again later, and cleared") {
  Machine on;
  REQUIRE(on.alarm.arm(3600));
  CHECK(on.tree.alarm() == "1700003600\n");
  on.tree.put("since_epoch", "1700000060\n");
  REQUIRE(on.alarm.arm(3600));
  CHECK(on.tree.alarm() == "1700003660\n");
  on.alarm.disarm();
  CHECK(on.tree.alarm() == "0\n");
}

TEST_CASE("an earlier alarm of another program stays; a later or past one is replaced") {
  Machine on;
  on.tree.put("wakealarm", "1700000500\n");
  REQUIRE(on.alarm.arm(600));
  on.alarm.disarm();
  CHECK(on.tree.alarm() == "1700000500\n");
  REQUIRE(on.alarm.arm(400));
  CHECK(on.tree.alarm() == "1700000400\n");
  Machine past;
  past.tree.put("wakealarm", "1600000000\n");
  REQUIRE(past.alarm.arm(600));
  CHECK(past.tree.alarm() == "1700000600\n");
}

TEST_CASE("a clock that cannot wake the machine is refused by name, and stays unchanged") {
  Machine disabled;
  disabled.tree.put("device/power/wakeup", "disabled\n");
  const Status off = disabled.alarm.arm(600);
  REQUIRE_FALSE(off);
  CHECK(off.error().code == Errc::unsupported);
  CHECK(off.error().subject == disabled.tree.path("device/power/wakeup"));
  CHECK(disabled.tree.alarm().empty());

  Machine bare;
  std::filesystem::remove(bare.tree.path("wakealarm"));
  CHECK(bare.alarm.check().error().code == Errc::unsupported);
  CHECK_FALSE(bare.alarm.check().error().fix.empty());

  Machine odd;
  odd.tree.put("since_epoch", "yesterday\n");
  CHECK(odd.alarm.arm(600).error().code == Errc::malformed);

  Machine on;
  CHECK(on.alarm.arm(0).error().code == Errc::out_of_range);
  CHECK(on.alarm.arm(~std::uint64_t{0}).error().code == Errc::out_of_range);
  CHECK(on.tree.alarm().empty());
}

TEST_CASE("a clock with a limit of one day wakes the node after a day, and one that keeps no alarm is refused") {
  // Like rtc-cmos without a date in its alarm, and a clock that forgets.
  struct DayClock final : RtcAlarm {
    using RtcAlarm::RtcAlarm;
    Status write(std::uint64_t at_s) const override {
      if (at_s > 1'700'000'000 + 86'400) return fail(Errc::malformed, "wakealarm", "Invalid argument");
      return RtcAlarm::write(at_s);
    }
  };
  struct Forgetful final : RtcAlarm {
    using RtcAlarm::RtcAlarm;
    Status write(std::uint64_t) const override { return RtcAlarm::write(0); }
  };
  Machine on;
  DayClock day(on.dir.path() + "/sys");
  REQUIRE(day.arm(72 * 3600));
  CHECK(on.tree.alarm() == "1700086340\n");
  day.disarm();
  Forgetful forgetful(on.dir.path() + "/sys");
  CHECK(forgetful.arm(600).error().code == Errc::conflict);
  CHECK(on.tree.alarm() == "0\n");
}

TEST_CASE("a clock whose alarm cannot be read back is refused") {
  Machine on;
  std::filesystem::remove(on.tree.path("wakealarm"));
  std::filesystem::create_symlink("/dev/null", on.tree.path("wakealarm"));
  const Status armed = on.alarm.arm(600);
  REQUIRE_FALSE(armed);
  CHECK(armed.error().subject == on.tree.path("wakealarm"));
}

TEST_CASE("a magic packet wakes the interfaces whose wakeup is enabled") {
  const wattle::test::TempDir dir;
  const auto add = [&](const std::string& name, const std::string& wakeup, const std::string& mac) {
    const std::string at = dir.path() + "/class/net/" + name;
    std::filesystem::create_directories(at + "/device/power");
    std::ofstream(at + "/device/power/wakeup") << wakeup;
    std::ofstream(at + "/address") << mac;
  };
  add("eno2", "enabled\n", "02:00:00:00:00:02\n");
  add("eno1", "enabled\n", "02:00:00:00:00:01\n");
  add("eno3", "disabled\n", "02:00:00:00:00:03\n");
  add("odd", "enabled\n", "short\n");
  const auto found = read_waking_interfaces(dir.path());
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "eno1");
  CHECK(found[1].mac == "02:00:00:00:00:02");
  CHECK(read_waking_interfaces(dir.path() + "/none").empty());
}
