// crash_test: the main invariant: whatever call ends the process, `restore` restores the original limits.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <random>
#include <string>
#include <vector>

#include "actuator/ledger.hpp"
#include "mortal.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

namespace {
constexpr std::size_t kWorkloads = 3;
const std::array<std::string, kWorkloads> kNames{"/a.service", "/pods/b one", "/c\\x2d.scope"};

// The expected final content of the files, shared with the process that dies.
struct Expected {
  std::array<std::array<std::int64_t, kKnobs.size()>, kWorkloads> value;
};

std::string text(std::int64_t value) { return value == kUnlimited ? "max" : std::to_string(value); }

std::string words(const Expected& expected, std::size_t i, Knob knob) {
  const auto& mine = expected.value[i];
  const std::int64_t value = mine[static_cast<std::size_t>(knob)];
  // A burst above another writer's quota stays pending.
  if (knob == Knob::burst_us) return text(std::min(value, mine[0]));
  return text(value) + (knob == Knob::quota_us ? " 100000" : "");
}

// Another writer, such as a daemon-reload, with numbers that we never write.
void write_as_other(const KernelTree& tree, Expected& expected, std::mt19937_64& random) {
  const std::size_t i = random() % kWorkloads;
  const Knob knob = kKnobs[random() % kKnobs.size()];
  auto& value = expected.value[i][static_cast<std::size_t>(knob)];
  const std::int64_t next = random() % 3 == 0        ? value  // the configured value from the start
                            : knob == Knob::quota_us ? 60'001 + static_cast<std::int64_t>(random() % 50) * 10
                            : knob == Knob::burst_us ? 1'001 + static_cast<std::int64_t>(random() % 50) * 10
                                                     : (1'000'001 + static_cast<std::int64_t>(random() % 50)) * 4096;
  if (tree.put(kNames[i], knob, text(next))) value = next;
}

Ledger open_ledger(const KernelTree& tree, Limits& limits, Os& os) {
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  return {std::move(*journal), limits};
}

void live(const KernelTree& tree, Expected& expected, std::mt19937_64& random, Os& os) {
  CgroupLimits limits(tree.mounts(), os);
  Ledger ledger = open_ledger(tree, limits, os);
  static_cast<void>(ledger.restore_all());
  std::vector<Target> targets;
  for (const auto& name : kNames) targets.push_back(*limits.find(name));
  MonoTime now;
  for (int step = 0; step < 60; ++step) {
    now += std::chrono::seconds(random() % 20);
    const Target& target = targets[random() % kWorkloads];
    if (random() % 8 == 0) write_as_other(tree, expected, random);
    if (random() % 16 == 0) {
      static_cast<void>(ledger.restore(target));
      continue;
    }
    Values wanted;
    const std::int64_t quota = 2'000 + static_cast<std::int64_t>(random() % 20) * 1'000;
    if (random() % 6 != 0) wanted[Knob::quota_us] = quota;
    if (random() % 3 != 0) wanted[Knob::burst_us] = quota / 1'000 * static_cast<std::int64_t>(random() % 1'000);
    if (random() % 2 == 0) wanted[Knob::high_bytes] = static_cast<std::int64_t>(1'000 + random() % 100) * 4096;
    if (random() % 2 == 0) wanted[Knob::low_bytes] = static_cast<std::int64_t>(3'000 + random() % 100) * 4096;
    static_cast<void>(ledger.set(target, wanted, now));
  }
  static_cast<void>(ledger.restore_all());
}
}  // namespace

TEST_CASE("restore leaves 0 values behind, for processes killed at any call with foreign writes in between") {
  void* shared = ::mmap(nullptr, sizeof(Expected), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  Expected& expected = *static_cast<Expected*>(shared);
  std::uint64_t killed = 0, killed_restoring = 0, left_behind = 0, changed_at_death = 0;
  for (std::uint64_t run = 0; killed < kKills; ++run) {
    REQUIRE(run < 2 * kKills);
    std::mt19937_64 random(run);
    const KernelTree tree;
    for (std::size_t i = 0; i < kWorkloads; ++i) {
      auto& value = expected.value[i];
      value = {random() % 2 == 0 ? kUnlimited : 30'000 + static_cast<std::int64_t>(random() % 90) * 1'000,
               static_cast<std::int64_t>(random() % 30) * 1'000,
               random() % 2 == 0 ? kUnlimited : static_cast<std::int64_t>(5'000 + random() % 1'000) * 4096,
               static_cast<std::int64_t>(random() % 2'000) * 4096};
      tree.add(kNames[i], text(value[0]), text(value[1]), text(value[2]));
      REQUIRE(tree.put(kNames[i], Knob::low_bytes, text(value[3])));
    }
    const std::uint64_t at = random() % 160;
    const auto how = static_cast<unsigned>(random() % 3);
    killed += dies([&] {
      Death death(at, how);
      MortalOs os(death);
      live(tree, expected, random, os);
    });
    for (std::size_t i = 0; i < kWorkloads; ++i)
      for (const Knob knob : kKnobs) changed_at_death += tree.get(kNames[i], knob) != words(expected, i, knob);
    // The process may be killed again during the restore.
    for (std::uint64_t again = 0; again < 2; ++again)
      killed_restoring += dies([&] {
        Death death(random() % 8, static_cast<unsigned>((how + again) % 3));
        MortalOs os(death);
        CgroupLimits limits(tree.mounts(), os);
        Ledger ledger = open_ledger(tree, limits, os);
        static_cast<void>(ledger.restore_all());
      });
    KernelOs os;
    CgroupLimits limits(tree.mounts(), os);
    Ledger ledger = open_ledger(tree, limits, os);
    const Restored restored = ledger.restore_all();
    CHECK(restored.failed.empty());
    for (std::size_t i = 0; i < kWorkloads; ++i)
      for (const Knob knob : kKnobs) {
        INFO("run ", run, ", killed at call ", at, " mode ", how, ", ", kNames[i], " knob ", static_cast<int>(knob));
        CHECK(tree.get(kNames[i], knob) == words(expected, i, knob));
        left_behind += tree.get(kNames[i], knob) != words(expected, i, knob);
      }
  }
  ::munmap(shared, sizeof(Expected));
  MESSAGE(killed, " killed at work, ", killed_restoring, " killed while restoring, ", changed_at_death,
          " limits were not what they had been at death; left behind: ", left_behind);
  CHECK(left_behind == 0);
  CHECK(changed_at_death > kKills / 2);  // otherwise there was nothing to restore
  CHECK(killed_restoring > kKills / 10);
}
