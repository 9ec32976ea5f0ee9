// memory_slack: lowered memory requests keep a margin over the maximum of the last day, and are restored if it is used
// up.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "provision/requests/request_rule.hpp"
#include "provision/requests/right_size.hpp"

namespace wattle::placement {
namespace {

constexpr double kSlackMiB = 1 << 20, kSlackStart_s = 1'700'000'000, kSlackTick_s = 120, kSlackHour_s = 3600;
constexpr double kSlackDay_s = 86'400, kTenMinutes_s = 600;
constexpr double kSlack = 1.05;

// One pod, its rule and the steps of its owner. The pod gets each ordered request.
struct SlackPod {
  RequestRule rule;
  HarmWatch harm;
  OwnerSizing state;
  OwnerFacts facts;
  Resources original{2, 1024 * kSlackMiB}, request = original;
  double now_s = kSlackStart_s, memory_at_s = kSlackStart_s, needed = 0;
  std::deque<std::pair<double, double>> seen;  // time and bytes of each need

  SlackPod() {
    facts.complete = facts.turn = true;
    facts.harm = &harm;
    facts.original = original;
  }
  double peak() const {  // in the last day
    double most = 0;
    for (const auto& [at_s, bytes] : seen) most = now_s - at_s < kSlackDay_s ? std::max(most, bytes) : most;
    return most;
  }
  void report(bool killed) {
    rule.add_memory(needed, now_s, killed);
    seen.emplace_back(now_s, needed);
    needed = 0;
    memory_at_s = now_s;
  }
  void tick(const PodMemory& memory, double waited = 0) {
    now_s += kSlackTick_s;
    rule.add_cpu(0.5, kSlackTick_s, now_s);
    needed = std::max(needed, needed_bytes(memory));
    if (memory.killed) harm.killed(now_s);
    if (memory.killed || now_s - memory_at_s >= kTenMinutes_s) report(memory.killed);
    rule.look(original, now_s);
    harm.add({0.0, 0.0, waited}, kSlackTick_s, now_s);
    if (rule.lower_needs_s() <= 0) {
      facts.cpu_cores = rule.cpu_cores();
      facts.memory_bytes = rule.memory_bytes();
      facts.lasting = {rule.lasting_cores().value_or(0), rule.lasting_bytes().value_or(0)};
      facts.needed_bytes = rule.lasting_needed_bytes();
    }
    const auto goal = goal_of(state, facts);
    if (goal && state.state == SizingState::watched)
      state.shadow.add(false, needed_bytes(memory) > goal->memory_bytes, kSlackTick_s, now_s);
    facts.pods = {{"u", request, false, {}, ""}};
    state = step(std::move(state), facts, now_s).state;
    obey();
  }
  void obey() {
    const SizingOrder order = order_of(state);
    if (order.kind == SizingOrderKind::restore && state.lowered.contains("u")) request = original;
    if (order.kind != SizingOrderKind::lower || order.pods.empty()) return;
    request.cpu_cores = std::min(request.cpu_cores, order.target.cpu_cores);
    request.memory_bytes = std::min(request.memory_bytes, order.target.memory_bytes);
  }
  void run(double hours, double mib, double cache_mib = 0) {
    for (double left_s = hours * kSlackHour_s; left_s > 0; left_s -= kSlackTick_s)
      tick({(mib + cache_mib) * kSlackMiB, cache_mib * kSlackMiB, false, false});
  }
  bool lowered() const { return request.memory_bytes < original.memory_bytes; }
  double mib() const { return request.memory_bytes / kSlackMiB; }
};

// Levels with spikes of some minutes, page cache, pressure and OOM kills.
std::vector<std::pair<PodMemory, int>> some_memory() {
  std::vector<std::pair<PodMemory, int>> parts;
  const auto drawn = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 20), rc::gen::inRange(32, 900), rc::gen::inRange(1, 500)));
  for (const auto& [kind, mib, ticks] : drawn) {
    const double bytes = mib * kSlackMiB;
    PodMemory memory{bytes, 0, false, false};
    if (kind < 4) memory.cache_bytes = bytes / 2;
    memory.pressed = kind == 0;
    memory.killed = kind == 5;
    const bool brief = memory.pressed || memory.killed || kind < 10;
    parts.emplace_back(memory, memory.killed ? 1 : brief ? 1 + ticks % 6 : ticks);
  }
  return parts;
}

}  // namespace

TEST_CASE("a spike of ten minutes that the rule's quantile omits is covered by lowered requests") {
  SlackPod pod;
  pod.run(28, 200);
  pod.run(1.0 / 6, 500);
  pod.run(1.5, 200);
  CHECK(*pod.rule.memory_bytes() < 300 * kSlackMiB);
  CHECK(pod.mib() >= 500 * kSlack - 1e-6);
  pod.run(20, 200);
  CHECK(pod.mib() >= 500 * kSlack - 1e-6);
  CHECK(pod.mib() < 600);
  pod.run(48, 200);
  CHECK(pod.mib() >= 500);  // the rule has learned the rise, and keeps it for two weeks
}

TEST_CASE("a level of memory that is no longer needed is freed two days after the rule lowers it") {
  SlackPod pod;
  pod.run(28, 600);
  pod.run(23, 200);
  CHECK(pod.mib() >= 600 * kSlack - 1e-6);
  pod.run(96, 200);
  CHECK(pod.mib() < 250);
}

TEST_CASE("memory that a pod needs above its lowered request restores the request within ten minutes") {
  SlackPod pod;
  pod.run(28, 200);
  REQUIRE(pod.mib() < 300);
  pod.run(1, 200, 400);  // page cache is not a need
  REQUIRE(pod.mib() < 300);
  SUBCASE("a need of its own") { pod.run(0.2, 400); }
  SUBCASE("page cache under pressure") {
    for (int i = 0; i < 6; ++i) pod.tick({600 * kSlackMiB, 400 * kSlackMiB, true, false});
  }
  SUBCASE("waiting for memory, at once") { pod.tick({210 * kSlackMiB, 0, true, false}, 0.9); }
  SUBCASE("an OOM kill, at once") { pod.tick({230 * kSlackMiB, 0, true, true}); }
  CHECK(pod.request.memory_bytes == pod.original.memory_bytes);
  const double peak = pod.peak();
  pod.run(30, 200);
  CHECK(pod.mib() >= peak * kSlack / kSlackMiB - 1e-6);
}

TEST_CASE("law: a memory request is at least the largest need of the last day plus a twentieth") {
  std::size_t steps = 0, runs = 0;
  CHECK(rc::check([&] {
    ++runs;
    SlackPod pod;
    pod.run(14, *rc::gen::inRange(64, 600));
    for (const auto& [memory, ticks] : some_memory()) {
      for (int i = 0; i < ticks; ++i) {
        const double before = pod.request.memory_bytes;
        pod.tick(memory);
        const double peak = pod.peak();
        if (pod.request.memory_bytes < before) {
          ++steps;
          RC_ASSERT(pod.request.memory_bytes >= std::min(pod.original.memory_bytes, kSlack * peak) * (1 - 1e-9));
        }
        // A later need may use up the margin, but no more than that.
        if (pod.lowered()) RC_ASSERT(pod.request.memory_bytes * 1.02 >= peak * (1 - 1e-9));
      }
    }
  }));
  CHECK(steps > runs);
}

}  // namespace wattle::placement
