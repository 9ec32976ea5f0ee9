// unit_crash: the main invariant with systemd as the keeper of limits: whatever call ends the process, systemd, kernel
// and drop-ins are after `restore` as without an actuator.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "actuator/ledger.hpp"
#include "actuator/unit_limits.hpp"
#include "fake_systemd.hpp"
#include "mortal.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

namespace {
const std::array<std::string, 2> kUnits{"a.service", "b\\x2dc@d.scope"};
constexpr std::array kProperties{UnitProperty::quota, UnitProperty::high, UnitProperty::low};
constexpr std::array kKnobOf{Knob::quota_us, Knob::high_bytes, Knob::low_bytes};

class MortalManager final : public FakeManager {
 public:
  MortalManager(const FakeSystemd& systemd, Death& death) : FakeManager(systemd), death_(death) {}
  Status write(const std::string& unit, UnitProperty property, std::uint64_t value) override {
    return death_.around([&] { return FakeManager::write(unit, property, value); });
  }

 private:
  Death& death_;
};

// The expected final state, shared with the process that dies.
struct UnitExpected {
  struct One {
    std::array<std::uint64_t, kProperties.size()> reported;
    std::array<bool, kProperties.size()> by_set_property;
    std::int64_t burst_us;
  };
  std::array<One, kUnits.size()> unit;
};

std::string kernel_word(UnitProperty property, std::uint64_t reported) {
  const bool quota = property == UnitProperty::quota;
  if (reported == kNoLimit) return quota ? "max 100000" : "max";
  return quota ? std::to_string(reported / 10) + " 100000" : std::to_string(reported);
}

// Another writer: set-property, a write of the burst, a daemon-reload, with numbers that we never write.
void write_unit_as_other(const KernelTree& tree, const FakeSystemd& systemd, UnitExpected& expected,
                         std::mt19937_64& random) {
  const std::size_t i = random() % kUnits.size();
  auto& mine = expected.unit[i];
  if (random() % 4 == 0) return systemd.reload();
  if (random() % 4 == 0) {
    const auto burst = 1'001 + static_cast<std::int64_t>(random() % 50) * 10;
    if (tree.put(FakeSystemd::cgroup(kUnits[i]), Knob::burst_us, std::to_string(burst))) mine.burst_us = burst;
    return;
  }
  const std::size_t p = random() % kProperties.size();
  mine.reported[p] = p == 0 ? 610'000 + random() % 50 * 10'000 : (1'000'001 + random() % 50) * 4096;
  mine.by_set_property[p] = true;
  systemd.set(kUnits[i], kProperties[p], mine.reported[p]);
}

Restored unit_restore(const KernelTree& tree, const FakeSystemd& systemd, Os& os, UnitManager& manager) {
  CgroupLimits cgroups(tree.mounts(), os);
  UnitLimits limits(cgroups, &manager, systemd.control_dir());
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  Ledger ledger(std::move(*journal), limits);
  return ledger.restore_all();
}

void unit_live(const KernelTree& tree, const FakeSystemd& systemd, UnitExpected& expected, std::mt19937_64& random,
               Death& death) {
  MortalOs os(death);
  MortalManager manager(systemd, death);
  CgroupLimits cgroups(tree.mounts(), os);
  UnitLimits limits(cgroups, &manager, systemd.control_dir());
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  Ledger ledger(std::move(*journal), limits);
  static_cast<void>(ledger.restore_all());
  std::vector<Target> targets;
  for (const auto& unit : kUnits) targets.push_back(*limits.find(FakeSystemd::cgroup(unit)));
  MonoTime now;
  for (int step = 0; step < 60; ++step) {
    now += std::chrono::seconds(random() % 20);
    const Target& target = targets[random() % kUnits.size()];
    if (random() % 8 == 0) write_unit_as_other(tree, systemd, expected, random);
    if (random() % 16 == 0) {
      static_cast<void>(ledger.restore(target));
      continue;
    }
    Values wanted;
    const std::int64_t quota = 2'000 + static_cast<std::int64_t>(random() % 20'000);
    if (random() % 6 != 0) wanted[Knob::quota_us] = quota;
    if (random() % 3 != 0) wanted[Knob::burst_us] = quota / 1'000 * static_cast<std::int64_t>(random() % 1'000);
    if (random() % 2 == 0) wanted[Knob::high_bytes] = static_cast<std::int64_t>(1'000 + random() % 100) * 4096;
    if (random() % 2 == 0) wanted[Knob::low_bytes] = static_cast<std::int64_t>(3'000 + random() % 100) * 4096;
    static_cast<void>(ledger.set(target, wanted, now));
  }
  static_cast<void>(ledger.restore_all());
}

std::uint64_t unit_differences(const KernelTree& tree, const FakeSystemd& systemd, const UnitExpected& expected) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    const auto& mine = expected.unit[i];
    const std::string cgroup = FakeSystemd::cgroup(kUnits[i]);
    for (std::size_t p = 0; p < kProperties.size(); ++p) {
      const UnitProperty property = kProperties[p];
      const Knob knob = kKnobOf[p];
      const bool drop_in = std::filesystem::exists(systemd.drop_in(kUnits[i], property));
      count += systemd.get(kUnits[i], property) != mine.reported[p];
      count += tree.get(cgroup, knob) != kernel_word(property, mine.reported[p]);
      count += drop_in && !mine.by_set_property[p];
    }
    count += parse_limit(tree.get(cgroup, Knob::burst_us)) != mine.burst_us;
  }
  return count;
}
}  // namespace

TEST_CASE(
    "restore leaves 0 limits and 0 drop-ins of units behind, for processes killed at any call with foreign writes") {
  void* shared = ::mmap(nullptr, sizeof(UnitExpected), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto& expected = *static_cast<UnitExpected*>(shared);
  std::uint64_t killed = 0, killed_restoring = 0, left_behind = 0, changed_at_death = 0;
  for (std::uint64_t run = 0; killed < kKills; ++run) {
    REQUIRE(run < 2 * kKills);
    std::mt19937_64 random(run);
    const KernelTree tree;
    const FakeSystemd systemd(tree);
    for (std::size_t i = 0; i < kUnits.size(); ++i) {
      auto& mine = expected.unit[i];
      mine = {};
      mine.reported = {random() % 2 == 0 ? kNoLimit : 300'000 + random() % 80 * 1'000,
                       random() % 2 == 0 ? kNoLimit : (5'000 + random() % 1'000) * 4096, 0};
      systemd.add(kUnits[i], mine.reported[0], mine.reported[1]);
      mine.burst_us = static_cast<std::int64_t>(random() % 30) * 1'000;
      REQUIRE(tree.put(FakeSystemd::cgroup(kUnits[i]), Knob::burst_us, std::to_string(mine.burst_us)));
    }
    const std::uint64_t at = random() % 160;
    const auto how = static_cast<unsigned>(random() % 3);
    killed += dies([&] {
      Death death(at, how);
      unit_live(tree, systemd, expected, random, death);
    });
    changed_at_death += unit_differences(tree, systemd, expected);
    for (std::uint64_t again = 0; again < 2; ++again)
      killed_restoring += dies([&] {
        Death death(random() % 8, static_cast<unsigned>((how + again) % 3));
        MortalOs os(death);
        MortalManager manager(systemd, death);
        static_cast<void>(unit_restore(tree, systemd, os, manager));
      });
    KernelOs os;
    FakeManager manager(systemd);
    const Restored restored = unit_restore(tree, systemd, os, manager);
    CHECK(restored.failed.empty());
    CHECK(restored.traces.empty());
    INFO("run ", run, ", killed at call ", at, " mode ", how);
    const std::uint64_t left = unit_differences(tree, systemd, expected);
    CHECK(left == 0);
    systemd.reload();
    const std::uint64_t after_reload = unit_differences(tree, systemd, expected);
    CHECK(after_reload == 0);
    left_behind += left + after_reload;
  }
  ::munmap(shared, sizeof(UnitExpected));
  MESSAGE(killed, " killed at work, ", killed_restoring, " killed while restoring, ", changed_at_death,
          " things were not what they had been at death; left behind: ", left_behind);
  CHECK(left_behind == 0);
  CHECK(changed_at_death > kKills / 2);  // otherwise there was nothing to restore
  CHECK(killed_restoring > kKills / 10);
}
