#include "actuator/unit_limits.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "actuator/governor.hpp"
#include "actuator/ledger.hpp"
#include "fake_systemd.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

namespace {
const std::string kUnit = "a.service";
constexpr auto kQuota = UnitProperty::quota;
constexpr auto kHigh = UnitProperty::high;

// Answers and acts once as the case scripts it.
class ScriptedManager final : public FakeManager {
 public:
  using FakeManager::FakeManager;
  Status write(const std::string& unit, UnitProperty property, std::uint64_t value) override {
    if (auto scripted = std::exchange(at_write, {})) return scripted(unit, property, value);
    return FakeManager::write(unit, property, value);
  }
  std::function<Status(const std::string&, UnitProperty, std::uint64_t)> at_write;
};

struct Rig {
  explicit Rig(std::uint64_t quota = 2'000'000) : systemd(tree), manager(systemd), cgroups(tree.mounts(), os) {
    systemd.add(kUnit, quota, kNoLimit);
    again();
    auto found = limits->find(FakeSystemd::cgroup(kUnit));
    REQUIRE(found);
    target = *found;
  }
  // Starts the next process.
  void again() {
    ledger.reset();
    limits.emplace(cgroups, &manager, systemd.control_dir());
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    ledger.emplace(std::move(*journal), *limits);
  }
  Result<Outcome> set(std::optional<std::int64_t> quota, std::optional<std::int64_t> burst,
                      std::optional<std::int64_t> high = {}) {
    Values wanted;
    wanted[Knob::quota_us] = quota;
    wanted[Knob::burst_us] = burst;
    wanted[Knob::high_bytes] = high;
    return ledger->set(target, wanted, now);
  }
  std::string get(Knob knob) const { return tree.get(FakeSystemd::cgroup(kUnit), knob); }
  bool has_drop_in(UnitProperty property) const { return std::filesystem::exists(systemd.drop_in(kUnit, property)); }

  KernelTree tree;
  KernelOs os;
  FakeSystemd systemd;
  ScriptedManager manager;
  CgroupLimits cgroups;
  std::optional<UnitLimits> limits;
  std::optional<Ledger> ledger;
  Target target;
  MonoTime now;
};
}  // namespace

TEST_CASE("a service of systemd is a unit, and a cgroup delegated below it is set in the kernel") {
  Rig rig;
  CHECK(rig.target == Target{Seam::unit, "/system.slice/a.service", 0});
  rig.tree.add("/system.slice/a.service/app.slice/b.service", "max", "0", "max");
  const auto inner = rig.limits->find("/system.slice/a.service/app.slice/b.service");
  REQUIRE(inner);
  CHECK(inner->seam == Seam::cgroup2);
  rig.tree.add("/jobs", "max", "0", "max");
  CHECK(rig.limits->find("/jobs")->seam == Seam::cgroup2);
  UnitLimits alone(rig.cgroups, nullptr, rig.systemd.control_dir());
  CHECK(alone.find("/system.slice/a.service")->seam == Seam::cgroup2);
}

TEST_CASE("systemd is not asked about names that are not units") {
  for (const char* name : {"a.service", "system.slice", "init.scope", "-.slice", "a@b-c\\x2d.service"})
    CHECK(is_unit_name(name));
  for (const char* name : {"", ".service", "a", "a.timer", "a b.service", "a/b.service", "a\n.service"})
    CHECK_FALSE(is_unit_name(name));
  CHECK_FALSE(is_unit_name(std::string(256, 'a') + ".service"));
}

TEST_CASE("quota in whole percents and memory go to systemd, burst to the file; the restore leaves no drop-in") {
  Rig rig;
  CHECK(rig.set(30'100, 20'000, 1'000 * 4096 + 5) == Outcome::done);
  CHECK(rig.systemd.get(kUnit, kQuota) == 310'000);
  CHECK(rig.get(Knob::quota_us) == "31000 100000");
  CHECK(rig.get(Knob::burst_us) == "20000");
  CHECK(rig.systemd.get(kUnit, kHigh) == 1'000 * 4096);
  CHECK(rig.has_drop_in(kQuota));
  rig.systemd.reload();
  CHECK(rig.ledger->look(rig.target, rig.now) == Outcome::done);

  const Restored restored = rig.ledger->restore_all();
  CHECK(restored.failed.empty());
  CHECK(restored.traces.empty());
  CHECK(restored.put_back == 3);
  CHECK(rig.systemd.get(kUnit, kQuota) == 2'000'000);
  CHECK(rig.get(Knob::quota_us) == "200000 100000");
  CHECK(rig.get(Knob::burst_us) == "0");
  CHECK(rig.get(Knob::high_bytes) == "max");
  CHECK_FALSE(rig.has_drop_in(kQuota));
  CHECK_FALSE(rig.has_drop_in(kHigh));
  // Nothing of ours hides an edit of the unit's file.
  rig.systemd.edit(kUnit, kQuota, 500'000);
  rig.systemd.reload();
  CHECK(rig.get(Knob::quota_us) == "50000 100000");
}

TEST_CASE("rounding up never exceeds the original") {
  Rig rig(333'000);
  CHECK(rig.set(33'100, 0) == Outcome::done);
  CHECK(rig.get(Knob::quota_us) == "33300 100000");
  CHECK(rig.set(32'100, 0) == Outcome::done);
  CHECK(rig.get(Knob::quota_us) == "33000 100000");
}

TEST_CASE("an existing drop-in stays with its content") {
  Rig rig;
  rig.systemd.set(kUnit, kQuota, 700'000);
  CHECK(rig.set(30'000, 0) == Outcome::done);
  CHECK(rig.ledger->restore_all().put_back >= 1);
  CHECK(rig.has_drop_in(kQuota));
  rig.systemd.reload();
  CHECK(rig.get(Knob::quota_us) == "70000 100000");
}

TEST_CASE("another writer's set-property is the new original, followed by a time without writes") {
  Rig rig;
  CHECK(rig.set(30'000, 20'000) == Outcome::done);
  rig.systemd.set(kUnit, kQuota, 600'000);
  CHECK(rig.set(40'000, 20'000) == Outcome::hands_off);
  CHECK(rig.get(Knob::quota_us) == "60000 100000");
  CHECK(rig.get(Knob::burst_us) == "0");
  CHECK(rig.ledger->foreign() == 1);
  rig.now += kHandsOff;
  CHECK(rig.set(40'000, 20'000) == Outcome::done);
  static_cast<void>(rig.ledger->restore_all());
  CHECK(rig.systemd.get(kUnit, kQuota) == 600'000);
  CHECK(rig.has_drop_in(kQuota));
}

TEST_CASE("a daemon-reload after the loss of our drop-in is a foreign write: the unit's file is in force again") {
  Rig rig;
  CHECK(rig.set(30'000, 20'000, 4096 * 500) == Outcome::done);
  std::filesystem::remove_all(rig.systemd.control_dir());
  rig.systemd.reload();
  CHECK(rig.ledger->look(rig.target, rig.now) == Outcome::hands_off);
  CHECK(rig.ledger->held() == 0);
  CHECK(rig.get(Knob::quota_us) == "200000 100000");
  CHECK(rig.get(Knob::burst_us) == "0");
  CHECK(rig.get(Knob::high_bytes) == "max");
}

TEST_CASE("a quota that systemd could not write below our burst takes effect once the burst is restored") {
  Rig rig;
  CHECK(rig.set(50'000, 50'000) == Outcome::done);
  rig.systemd.set(kUnit, kQuota, 200'000);  // 20000 per period: EINVAL, which systemd only logs
  CHECK(rig.get(Knob::quota_us) == "50000 100000");
  CHECK(rig.ledger->look(rig.target, rig.now) == Outcome::hands_off);
  CHECK(rig.get(Knob::quota_us) == "20000 100000");
  CHECK(rig.get(Knob::burst_us) == "0");
}

TEST_CASE(
    "a write past systemd stays in the file, systemd gets its original back, and no limit is set while they differ") {
  for (const char* theirs : {"77000", "200000"}) {  // also the original value
    Rig rig;
    CHECK(rig.set(30'000, 0) == Outcome::done);
    REQUIRE(rig.tree.put(FakeSystemd::cgroup(kUnit), Knob::quota_us, theirs));
    CHECK(rig.set(40'000, 0) == Outcome::hands_off);
    CHECK(rig.get(Knob::quota_us) == theirs + std::string(" 100000"));
    CHECK(rig.systemd.get(kUnit, kQuota) == 2'000'000);
    rig.now += kHandsOff;
    if (theirs == std::string("200000")) continue;
    const auto refused = rig.set(40'000, 0);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::conflict);
    rig.systemd.reload();
    CHECK(rig.set(40'000, 0) == Outcome::done);
  }
}

TEST_CASE("a restarted unit gets our limit from systemd, and it is restored, also while the unit does not run") {
  for (const bool runs : {true, false}) {
    Rig rig;
    CHECK(rig.set(30'000, 10'000) == Outcome::done);
    rig.systemd.stop(kUnit);
    rig.limits->forget(rig.target);  // ENODEV in the kernel; here a removed file stays readable
    if (runs) rig.systemd.start(kUnit);
    if (runs) CHECK(rig.get(Knob::quota_us) == "30000 100000");
    const Restored restored = rig.ledger->restore_all();
    CHECK(restored.failed.empty());
    CHECK(rig.systemd.get(kUnit, kQuota) == 2'000'000);
    CHECK_FALSE(rig.has_drop_in(kQuota));
    CHECK(rig.ledger->held() == 0);
  }
}

TEST_CASE("a refusal changes nothing, and a value that systemd changes is withdrawn") {
  Rig rig;
  rig.manager.at_write = [](const auto&, auto, auto) { return fail(Errc::denied, kUnit, "no"); };
  const auto refused = rig.set(30'000, 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::denied);
  CHECK(rig.get(Knob::quota_us) == "200000 100000");

  rig.manager.at_write = [&](const auto& unit, auto property, auto) -> Status {
    rig.systemd.set(unit, property, 305'000);
    return {};
  };
  const auto other = rig.set(30'000, 0);
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Errc::out_of_range);
  CHECK(rig.get(Knob::quota_us) == "200000 100000");
  static_cast<void>(rig.ledger->restore_all());
  CHECK(rig.ledger->held() == 0);
  CHECK_FALSE(rig.has_drop_in(kQuota));
}

TEST_CASE("a foreign write right after ours, before our check, stays") {
  Rig rig;
  rig.manager.at_write = [&](const auto& unit, auto property, auto value) -> Status {
    rig.systemd.set(unit, property, value);
    rig.systemd.set(unit, property, 900'000);
    return {};
  };
  CHECK(rig.set(30'000, 0) == Outcome::hands_off);
  CHECK(rig.get(Knob::quota_us) == "90000 100000");
  static_cast<void>(rig.ledger->restore_all());
  CHECK(rig.systemd.get(kUnit, kQuota) == 900'000);
  CHECK(rig.has_drop_in(kQuota));
}

TEST_CASE("a write that takes effect after the timeout is still ours, and is restored") {
  Rig rig;
  std::function<void()> later;
  rig.manager.at_write = [&](const auto& unit, auto property, auto value) -> Status {
    later = [&rig, unit, property, value] { rig.systemd.set(unit, property, value); };
    return fail(Errc::timeout, unit, "no answer");
  };
  const auto unknown = rig.set(30'000, 0);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Errc::timeout);
  later();
  CHECK(rig.get(Knob::quota_us) == "30000 100000");
  CHECK(rig.ledger->look(rig.target, rig.now) == Outcome::done);
  SUBCASE("by this process") { CHECK(rig.ledger->restore_all().put_back == 1); }
  SUBCASE("by the next process") {
    rig.again();
    CHECK(rig.ledger->restore_all().put_back == 1);
  }
  SUBCASE("after the next write") {
    CHECK(rig.set(40'000, 0) == Outcome::done);
    CHECK(rig.ledger->restore_all().put_back == 1);
  }
  CHECK(rig.get(Knob::quota_us) == "200000 100000");
  CHECK(rig.ledger->foreign() == 0);
}

TEST_CASE("a drop-in that another writer has written since our restore is not removed") {
  Rig rig;
  CHECK(rig.set(30'000, 0) == Outcome::done);
  for (const Target& target : rig.ledger->targets()) CHECK(rig.ledger->restore(target).failed.empty());
  CHECK(rig.has_drop_in(kQuota));
  rig.systemd.set(kUnit, kQuota, 900'000);
  CHECK(rig.ledger->restore_all().traces.empty());
  rig.systemd.reload();
  CHECK(rig.get(Knob::quota_us) == "90000 100000");
}

TEST_CASE("without systemd a limited unit keeps its record") {
  Rig rig;
  CHECK(rig.set(30'000, 0) == Outcome::done);
  UnitLimits alone(rig.cgroups, nullptr, rig.systemd.control_dir());
  rig.ledger.reset();
  auto journal = Journal::open_(rig.tree.state(), "boot-1", rig.os);
  REQUIRE(journal);
  Ledger ledger(std::move(*journal), alone);
  const Restored restored = ledger.restore_all();
  REQUIRE_FALSE(restored.failed.empty());
  CHECK(restored.failed.front().code == Errc::unavailable);
  CHECK(ledger.held() == 1);
}

TEST_CASE("systemd gets no calls at level suggest, and few at level limits; all limits are restored at the end") {
  Rig rig;
  const std::string folder = rig.tree.root() + FakeSystemd::cgroup(kUnit);
  overwrite(rig.tree.path() + "/proc/stat", "cpu 10 0 0 990 0 0 0 0 0 0\n");
  auto load = NodeLoad::open_(rig.tree.path() + "/proc", 4);
  REQUIRE(load);
  Governor governor(rig.cgroups, *rig.limits, *rig.ledger, std::move(*load), Rules{});
  MonoTime now{std::chrono::hours(1)};
  std::uint64_t used_us = 0, periods = 0;
  int changes = 0;
  const auto pass = [&](int for_s, const auto& cores) {
    for (int i = 0; i < for_s * 10; ++i) {
      now += std::chrono::milliseconds(100);
      used_us += static_cast<std::uint64_t>(cores(i) * 100'000);
      overwrite(folder + "/cpu.stat", "usage_usec " + std::to_string(used_us) + "\nnr_periods " +
                                          std::to_string(++periods) + "\nnr_throttled 0\n");
      const std::uint64_t before = rig.systemd.get(kUnit, kQuota);
      governor.tick(now);
      changes += rig.systemd.get(kUnit, kQuota) != before;
    }
  };
  const auto order = [&](actuation::Level level) { governor.orders().own({{FakeSystemd::cgroup(kUnit), level}}); };
  const auto state = [&] { return governor.report().grants.at(0).state; };

  order(actuation::Level::suggest);
  pass(20, [](int) { return 1.0; });
  CHECK(state() == actuation::State::suggested);
  CHECK(rig.manager.reads == 0);

  order(actuation::Level::limits);
  pass(20, [](int) { return 1.0; });
  CHECK(state() == actuation::State::set);
  CHECK(rig.systemd.get(kUnit, kQuota) % 10'000 == 0);
  CHECK(rig.systemd.get(kUnit, kQuota) >= 1'000'000);
  CHECK(rig.systemd.get(kUnit, kQuota) < 1'500'000);

  changes = 0;
  pass(30, [](int i) { return 1.0 - i / 400.0; });
  CHECK(changes >= 2);
  CHECK(changes <= 6);

  rig.systemd.set(kUnit, kQuota, 1'900'000);
  pass(6, [](int) { return 0.25; });
  CHECK(state() == actuation::State::hands_off);
  CHECK(rig.systemd.get(kUnit, kQuota) == 1'900'000);
  pass(75, [](int) { return 0.25; });
  CHECK(state() == actuation::State::set);
  CHECK(rig.systemd.get(kUnit, kQuota) < 500'000);

  order(actuation::Level::suggest);
  pass(5, [](int) { return 0.25; });
  CHECK(rig.systemd.get(kUnit, kQuota) == 1'900'000);
  CHECK(rig.ledger->held() == 0);
}
