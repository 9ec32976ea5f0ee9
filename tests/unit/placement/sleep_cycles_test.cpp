// Ten thousand sleeps with faults: lost goodbyes, refused and aborted suspends, wakes without effect, machines that wake
// or crash by themselves, a BMC that lies, denies or is silent, repeated events, and restarts of the controller before
// and after each action.
#include <doctest/doctest.h>

#include "tests/unit/placement/sleep_rig.hpp"

namespace wattle::placement::sleep {
namespace {

using testing::SleepRig;

constexpr std::size_t kNodes = 6, kFull = 6 * 8;
#ifdef WATTLE_SANITIZED
constexpr std::uint64_t kSleeps = 1000;
#else
constexpr std::uint64_t kSleeps = 5000;
#endif
constexpr int kTicksPerHour = 360;

void run_cycles(SleepRig& rig, std::uint64_t seed) {
  stats::Random random(seed);
  for (int ticks = 0; rig.sleeps < kSleeps && rig.breaches.empty() && ticks < 1'000'000; ++ticks) {
    if (ticks % 24 == 0) rig.want_pods(2 + stats::pick(random, kFull - 2));
    rig.tick();
  }
}

void check_laws(bool observable, std::uint64_t seed) {
  SleepRig rig(kNodes, observable, seed);
  run_cycles(rig, seed);
  for (const std::string& breach : rig.breaches) FAIL_CHECK(breach);
  MESSAGE(rig.sleeps << " sleeps, " << rig.wakes << " wakes, " << rig.drains << " drains, " << rig.evictions
                     << " evictions, " << rig.restarts << " restarts");
  CHECK(rig.sleeps >= kSleeps);
  CHECK(rig.faults.size() == (observable ? 15 : 13));
  CHECK(rig.drains > 0);
  CHECK(rig.evictions > 0);
  // Without faults and with room for all pods, every node returns and every pod runs.
  rig.calm();
  rig.want_pods(kFull);
  for (int ticks = 0; ticks < 2 * kTicksPerHour; ++ticks) rig.tick();
  CHECK(rig.breaches.empty());
  CHECK(rig.all_take_pods());
  CHECK(rig.running() == kFull);
}

TEST_CASE("sleeps with faults lose no pod, leave no node stuck, and put none to sleep with pods: observable nodes") {
  check_laws(true, 1);
}

TEST_CASE("sleeps with faults lose no pod, leave no node stuck, and put none to sleep with pods: presumed sleeps") {
  check_laws(false, 2);
}

}  // namespace
}  // namespace wattle::placement::sleep
