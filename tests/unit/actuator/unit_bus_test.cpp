// Over a real D-Bus: the messages to systemd, refusals, and outages; then the whole actuator.
#include "actuator/unit_bus.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "actuator/run.hpp"
#include "actuator/unit_helper.hpp"
#include "private_bus.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

namespace {
const std::string kService = "we\\x2db@1.service";

struct Bus {
  Bus() : systemd(tree), bus(tree, systemd) { systemd.add(kService, 2'000'000, kNoLimit); }
  KernelTree tree;
  FakeSystemd systemd;
  PrivateBus bus;
};

Errc code_of_write(UnitManager& manager, const std::string& unit) {
  const auto written = manager.write(unit, UnitProperty::quota, 300'000);
  REQUIRE_FALSE(written);
  CHECK(written.error().message().find(unit) != std::string::npos);
  return written.error().code;
}

std::unique_ptr<UnitHelper> helper_of(const PrivateBus& bus) {
  auto helper = UnitHelper::start([&] { return std::make_unique<UnitBus>(bus.address()); }, std::chrono::seconds(30));
  REQUIRE(helper);
  return std::move(*helper);
}
}  // namespace

TEST_CASE("over D-Bus a unit's properties are read and set, directly and by the confined helper") {
  Bus rig;
  const auto claims = [&](UnitManager& manager, std::uint64_t value) {
    CHECK(manager.cgroup_of(kService) == FakeSystemd::cgroup(kService));
    CHECK(manager.cgroup_of("other.service") == "");
    CHECK(manager.read(kService, UnitProperty::high) == kNoLimit);
    CHECK(manager.write(kService, UnitProperty::quota, value));
    CHECK(manager.read(kService, UnitProperty::quota) == value);
    CHECK(rig.tree.get(FakeSystemd::cgroup(kService), Knob::quota_us) == std::to_string(value / 10) + " 100000");
  };
  UnitBus direct(rig.bus.address());
  claims(direct, 300'000);
  const auto helper = helper_of(rig.bus);
  claims(*helper, 400'000);
}

TEST_CASE("a refusal by systemd is reported by kind, with the unit's name, and changes nothing") {
  Bus rig;
  const auto helper = helper_of(rig.bus);
  UnitBus direct(rig.bus.address());
  for (UnitManager* manager : {static_cast<UnitManager*>(&direct), static_cast<UnitManager*>(helper.get())}) {
    rig.bus.answer_mode("org.freedesktop.DBus.Error.AccessDenied");
    CHECK(code_of_write(*manager, kService) == Errc::denied);
    rig.bus.answer_mode("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired");
    CHECK(code_of_write(*manager, kService) == Errc::denied);
    rig.bus.answer_mode("org.freedesktop.DBus.Error.InvalidArgs");
    CHECK(code_of_write(*manager, kService) == Errc::out_of_range);
    rig.bus.answer_mode("org.freedesktop.DBus.Error.PropertyReadOnly");
    CHECK(code_of_write(*manager, kService) == Errc::unsupported);
    rig.bus.answer_mode("");
    CHECK(code_of_write(*manager, "nobody.service") == Errc::not_found);
    CHECK(code_of_write(*manager, "no unit.service") == Errc::malformed);
    CHECK(manager->read("a.scope", UnitProperty::quota).error().code == Errc::unsupported);
  }
  CHECK(rig.systemd.get(kService, UnitProperty::quota) == 2'000'000);
}

TEST_CASE("a missing systemd or bus is reported as such, and called again once it is back") {
  Bus rig;
  const auto helper = helper_of(rig.bus);
  REQUIRE(helper->read(kService, UnitProperty::quota));
  rig.bus.stop_systemd();
  CHECK(code_of_write(*helper, kService) == Errc::unavailable);
  rig.bus.start_systemd();
  CHECK(helper->write(kService, UnitProperty::quota, 500'000));

  rig.bus.stop_systemd();
  rig.bus.stop_bus();
  CHECK_FALSE(helper->read(kService, UnitProperty::quota));
  rig.bus.start_bus();
  rig.bus.start_systemd();
  CHECK(until([&] { return helper->read(kService, UnitProperty::quota) == 500'000U; }));
  CHECK_FALSE(helper->gone());
}

TEST_CASE("if systemd ends during a call, the result is unknown and reported as a timeout") {
  Bus rig;
  const auto helper = helper_of(rig.bus);
  rig.bus.answer_mode("never");
  CHECK(code_of_write(*helper, kService) == Errc::timeout);
  rig.bus.answer_mode("");
  rig.bus.stop_systemd();
  rig.bus.start_systemd();
  CHECK(helper->read(kService, UnitProperty::quota) == 300'000U);
}

TEST_CASE("a systemd that has not answered gets no further calls, and its late answer is not mistaken for another's") {
  Bus rig;
  auto started =
      UnitHelper::start([&] { return std::make_unique<UnitBus>(rig.bus.address()); }, std::chrono::milliseconds(100));
  REQUIRE(started);
  UnitHelper& helper = **started;
  REQUIRE(until([&] { return helper.read(kService, UnitProperty::quota).has_value(); }));
  rig.bus.answer_mode("late");
  CHECK(code_of_write(helper, kService) == Errc::timeout);
  const auto busy = helper.read(kService, UnitProperty::high);
  REQUIRE_FALSE(busy);
  CHECK(busy.error().code == Errc::timeout);
  CHECK(rig.systemd.get(kService, UnitProperty::quota) == 2'000'000);
  rig.bus.answer_mode("");
  CHECK(until([&] { return helper.read(kService, UnitProperty::high) == kNoLimit; }));
  CHECK(helper.read(kService, UnitProperty::quota) == 300'000U);
}

TEST_CASE("an ended helper is reported, and no call waits for it") {
  class Ending final : public UnitManager {
   public:
    Result<std::string> cgroup_of(const std::string&) override { ::_exit(1); }
    Result<std::uint64_t> read(const std::string&, UnitProperty) override { ::_exit(1); }
    Status write(const std::string&, UnitProperty, std::uint64_t) override { ::_exit(1); }
  };
  auto helper = UnitHelper::start([] { return std::make_unique<Ending>(); }, std::chrono::seconds(30));
  REQUIRE(helper);
  CHECK(code_of_write(**helper, kService) == Errc::timeout);  // it may have written
  CHECK((*helper)->gone());
  CHECK(code_of_write(**helper, kService) == Errc::unavailable);
}

TEST_CASE("an address has no character that is special for D-Bus") {
  CHECK(bus_address("/run/a b;c") == "unix:path=/run/a%20b%3bc");
}

namespace {
// The program's own loop, confined, on a machine with one idle service: its limit falls to rules.least_cores.
struct RunningActuator {
  RunningActuator() {
    std::filesystem::create_directories(rig.tree.path() + "/proc/sys/kernel/random");
    overwrite(rig.tree.path() + "/proc/sys/kernel/random/boot_id", "boot-1\n");
    overwrite(rig.tree.path() + "/proc/stat", "cpu 1 0 0 1000 0 0 0 0 0 0\n");
    overwrite(rig.tree.root() + FakeSystemd::cgroup(kService) + "/cpu.stat",
              "usage_usec 0\nnr_periods 0\nnr_throttled 0\n");
    config.state_dir = rig.tree.state();
    config.socket.clear();
    config.rules.student.burst_ratio = 0;  // unlike the kernel's, these files keep the tail of a longer value
    config.workloads = {{FakeSystemd::cgroup(kService), actuation::Level::limits}};
    machine.prefix = rig.tree.path();
  }
  void start() {
    process.start([&] {
      const SystemClock clock;
      const Log log("wattle-actuator", LogLevel::off, LogFormat::text);
      ::_exit(run(config, machine, clock, log) ? 0 : 1);
    });
  }
  bool limited() const { return rig.systemd.get(kService, UnitProperty::quota) == 50'000; }
  bool as_before(std::uint64_t reported = 2'000'000) const {
    return rig.systemd.get(kService, UnitProperty::quota) == reported &&
           parse_limit(rig.tree.get(FakeSystemd::cgroup(kService), Knob::quota_us)) ==
               static_cast<std::int64_t>(reported / 10) &&
           parse_limit(rig.tree.get(FakeSystemd::cgroup(kService), Knob::burst_us)) == 0;
  }
  bool drop_in() const { return std::filesystem::exists(rig.systemd.drop_in(kService, UnitProperty::quota)); }

  Bus rig;
  ActuatorConfig config;
  Machine machine;
  ChildProcess process;
};
}  // namespace

TEST_CASE("the confined actuator sets a unit's limit through systemd and restores it when it ends or is killed") {
  RunningActuator actuator;
  actuator.start();
  REQUIRE(until([&] { return actuator.limited(); }));
  CHECK(actuator.process.end(SIGTERM) == 0);
  CHECK(actuator.as_before());
  CHECK_FALSE(actuator.drop_in());
  for (int i = 0; i < 5; ++i) {
    actuator.start();
    REQUIRE(until([&] { return actuator.limited(); }));
    CHECK(actuator.process.end(SIGKILL) == -SIGKILL);
    CHECK(actuator.limited());
    const auto restored = restore(actuator.config, actuator.machine);
    REQUIRE(restored);
    CHECK(restored->failed.empty());
    CHECK(actuator.as_before());
    CHECK_FALSE(actuator.drop_in());
  }
}

TEST_CASE("the actuator keeps foreign changes, and continues while systemd is down") {
  RunningActuator actuator;
  actuator.start();
  REQUIRE(until([&] { return actuator.limited(); }));
  SUBCASE("set-property") {
    actuator.rig.systemd.set(kService, UnitProperty::quota, 600'000);
    const std::string record = actuator.rig.tree.state() + "/originals";
    CHECK(until([&] { return text_of(record).find(" done unit 0 quota_us ") != std::string::npos; }));
    CHECK(actuator.process.end(SIGTERM) == 0);
    CHECK(actuator.as_before(600'000));
    CHECK(actuator.drop_in());
  }
  SUBCASE("systemd down at the end: the next process restores") {
    actuator.rig.bus.stop_systemd();
    CHECK(actuator.process.end(SIGTERM) == 1);
    CHECK(actuator.limited());
    actuator.rig.bus.start_systemd();
    CHECK(until([&] {  // a call may miss its deadline on a busy machine
      const auto restored = restore(actuator.config, actuator.machine);
      return restored && restored->failed.empty();
    }));
    CHECK(actuator.as_before());
  }
  SUBCASE("systemd down for a while") {
    actuator.rig.bus.stop_systemd();
    CHECK(actuator.process.runs());
    actuator.rig.bus.start_systemd();
    CHECK(actuator.process.end(SIGTERM) == 0);
    CHECK(actuator.as_before());
  }
}
