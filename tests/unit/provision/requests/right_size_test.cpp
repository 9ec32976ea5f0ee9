// right_size: requests of one owner that are lowered in steps, measured and restored; laws over random cluster
// histories.
#include "provision/requests/right_size.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "provision/requests/lasting_need.hpp"

using namespace wattle::placement;

namespace {

constexpr double kSizedMiB = 1 << 20, kSizedStart_s = 1e9, kSizedTick_s = 10;

std::string packed_state(const OwnerSizing& state) {
  PackWriter out;
  state.pack(out);
  return out.take();
}

// An owner whose pods follow the order, unless a fault is set.
struct Owner {
  OwnerSizing state;
  OwnerFacts facts;
  HarmWatch harm;
  LastingNeed lasting;
  std::vector<Resources> originals;
  std::vector<SizingNote> notes;
  double now_s = kSizedStart_s;
  KnownHarm shares{0.0, 0.0, 0.0};
  bool stuck = false;  // orders are not executed

  explicit Owner(std::size_t pods = 2) {
    facts.cpu_cores = 0.5;
    facts.memory_bytes = 256 * kSizedMiB;
    facts.original = {2, 1024 * kSizedMiB};
    facts.complete = facts.turn = true;
    for (std::size_t i = 0; i < pods; ++i)
      facts.pods.push_back({"u" + std::to_string(i), facts.original, false, {}, ""});
    originals.assign(pods, facts.original);
    facts.harm = &harm;
  }
  double total_cores() const {
    double sum = 0;
    for (const SizedPod& pod : facts.pods) sum += pod.request.cpu_cores;
    return sum;
  }
  void obey() {
    const SizingOrder order = order_of(state);
    if (stuck) return;
    for (std::size_t i = 0; i < facts.pods.size(); ++i) {
      SizedPod& pod = facts.pods[i];
      if (order.kind == SizingOrderKind::restore && state.lowered.contains(pod.uid)) pod.request = originals[i];
      if (order.kind != SizingOrderKind::lower) continue;
      if (std::find(order.pods.begin(), order.pods.end(), pod.uid) == order.pods.end()) continue;
      pod.request.cpu_cores = std::min(pod.request.cpu_cores, order.target.cpu_cores);
      pod.request.memory_bytes = std::min(pod.request.memory_bytes, order.target.memory_bytes);
    }
  }
  void tick() {
    now_s += kSizedTick_s;
    harm.add(shares, kSizedTick_s, now_s);
    if (state.state == SizingState::watched) state.shadow.add(false, false, kSizedTick_s, now_s);
    lasting.add_wanted({facts.cpu_cores.value_or(0), facts.memory_bytes.value_or(0)}, now_s);
    facts.lasting = lasting.request();
    SizingStep next = step(state, facts, now_s);
    state = std::move(next.state);
    for (SizingNote& note : next.notes) notes.push_back(std::move(note));
    obey();
  }
  void run(double seconds) {
    for (double left = seconds; left > 0; left -= kSizedTick_s) tick();
  }
  bool noted(const std::string& part) const {
    return std::any_of(notes.begin(), notes.end(), [&](const SizingNote& note) {
      return (note.what + ": " + note.why).find(part) != std::string::npos;
    });
  }
};

bool all_have(const Owner& owner, const Resources& size) {
  return std::all_of(owner.facts.pods.begin(), owner.facts.pods.end(), [&](const SizedPod& pod) {
    return pod.request.cpu_cores == size.cpu_cores && pod.request.memory_bytes == size.memory_bytes;
  });
}

}  // namespace

TEST_CASE("requests are lowered by a quarter at a time, each step is measured, and the last one is the suggestion") {
  Owner owner;
  owner.run(3500);
  CHECK(owner.state.state == SizingState::watched);
  CHECK(waits_for(owner.state, owner.facts, owner.now_s) ==
        "observed against the smaller request for less than an hour");
  owner.run(200);
  CHECK(owner.state.state == SizingState::held);
  CHECK(all_have(owner, {1.5, 768 * kSizedMiB}));
  owner.run(1700);
  CHECK(all_have(owner, {1.5, 768 * kSizedMiB}));
  owner.run(5 * 3600);
  CHECK(all_have(owner, {0.5, 256 * kSizedMiB}));
  CHECK(owner.state.state == SizingState::held);
  CHECK(waits_for(owner.state, owner.facts, owner.now_s) == "its requests fit its need");
}

TEST_CASE("an owner is not changed while it is excluded, before its turn, without evidence, or with too many pods") {
  for (const auto& change : std::vector<std::function<void(Owner&)>>{
           [](Owner& owner) { owner.facts.barred = "mode is shadow"; },
           [](Owner& owner) { owner.facts.withdrawn = "annotation is missing"; },
           [](Owner& owner) { owner.facts.refused = "an autoscaler scales it"; },
           [](Owner& owner) { owner.facts.turn = false; }, [](Owner& owner) { owner.facts.complete = false; },
           [](Owner& owner) { owner.facts.cpu_cores = owner.facts.memory_bytes = std::nullopt; },
           [](Owner& owner) {
             owner.facts.pods.resize(501, {"u", owner.facts.original, false, {}, ""});
           },
           [](Owner& owner) { owner.facts.others_in_flight = 5; },
           [](Owner& owner) { owner.facts.others_ordered = 60; },
           [](Owner& owner) {
             for (SizedPod& pod : owner.facts.pods) pod.young = true;
           }}) {
    Owner owner;
    change(owner);
    owner.run(3 * 3600);
    CHECK(owner.state.state == SizingState::watched);
    CHECK(order_of(owner.state).kind == SizingOrderKind::raise);
    CHECK(owner.notes.empty());
  }
}

TEST_CASE("pods that would have needed more memory, or would have been throttled, keep their requests") {
  Owner memory;
  memory.run(1800);
  memory.state.shadow.add(false, true, kSizedTick_s, memory.now_s);
  memory.run(5 * 3600);
  CHECK(memory.state.steps == 0);
  memory.run(2 * 3600);
  CHECK(memory.state.steps > 0);
  Owner guaranteed;
  guaranteed.facts.limits_follow = true;
  for (int i = 0; i < 720; ++i) {
    guaranteed.state.shadow.add(i % 10 == 0, false, kSizedTick_s, guaranteed.now_s);
    guaranteed.now_s += kSizedTick_s;
  }
  CHECK(waits_for(guaranteed.state, guaranteed.facts, guaranteed.now_s).find("would have been throttled") !=
        std::string::npos);
}

TEST_CASE("throttling after the change restores the requests within half a minute, and excludes the owner for a day") {
  Owner owner;
  owner.run(2 * 3600);
  REQUIRE(owner.state.steps > 0);
  owner.shares = {0.6, 0.0, 0.0};
  owner.run(30);
  CHECK(all_have(owner, owner.facts.original));
  CHECK(owner.noted("the original requests are restored: pods were throttled for"));
  owner.shares = {0.0, 0.0, 0.0};
  owner.run(60);
  CHECK(owner.state.state == SizingState::waiting);
  CHECK(owner.state.lowered.empty());
  CHECK(owner.state.rollbacks == 1);
  owner.run(86'400 - 600);
  CHECK(owner.state.state == SizingState::waiting);
  CHECK(all_have(owner, owner.facts.original));
  owner.run(1200);
  CHECK(owner.state.state != SizingState::waiting);
}

TEST_CASE("waiting from before the change, or that unchanged owners have too, restores nothing") {
  Owner before;
  before.shares = {0.0, 0.3, 0.0};
  before.run(3 * 3600);
  CHECK(before.state.steps > 0);
  CHECK(before.state.rollbacks == 0);
  Owner control;
  control.run(2 * 3600);
  control.shares = {0.0, 0.3, 0.0};
  control.facts.control.fast = control.facts.control.slow = {0.0, 0.3, 0.0};
  control.run(3600);
  CHECK(control.state.rollbacks == 0);
}

TEST_CASE("a slow rise of waiting is detected too") {
  Owner owner;
  owner.run(2 * 3600);
  owner.shares = {0.0, 0.06, 0.0};
  owner.run(600);
  CHECK(owner.noted("pods waited for CPU for"));
  CHECK(all_have(owner, owner.facts.original));
}

TEST_CASE("an OOM kill after the change restores the requests at once; earlier kills are subtracted") {
  Owner owner;
  owner.run(2 * 3600);
  owner.harm.killed(owner.now_s);
  owner.run(20);
  CHECK(all_have(owner, owner.facts.original));
  CHECK(owner.noted("1 OOM kills since the change, 0 in the day before"));
  Owner before;
  before.run(600);
  before.harm.killed(before.now_s);
  before.run(2 * 3600);
  REQUIRE(before.state.steps > 0);
  before.harm.killed(before.now_s);
  before.run(60);
  CHECK(before.state.rollbacks == 0);
}

TEST_CASE("a failed resize is restored with the kubelet's message, and tried again after a pause that doubles") {
  Owner owner;
  owner.run(3590);
  owner.stuck = true;
  while (owner.state.state != SizingState::lowering) owner.tick();
  owner.facts.pods[0].answer = PodAnswer::failing;
  owner.facts.pods[0].message = "memory is in use";
  owner.tick();
  CHECK(owner.state.state == SizingState::restoring);
  CHECK(owner.noted("the kubelet failed to resize a pod: memory is in use"));
  owner.facts.pods[0].answer = PodAnswer::none;
  owner.tick();
  CHECK(owner.state.state == SizingState::waiting);
  CHECK(owner.state.until_s - owner.now_s <= 600);
  CHECK(owner.state.rollbacks == 0);
  owner.run(620);
  CHECK(owner.state.state == SizingState::lowering);  // stuck again
  owner.run(400);
  CHECK(owner.noted("a pod did not get its request within 300 s"));
  CHECK(owner.state.until_s - owner.state.since_s > 1000);
  owner.stuck = false;
  owner.run(2000);
  CHECK(owner.state.state == SizingState::held);
}

TEST_CASE("a restoration that the node has no room for stays ordered, and is an alarm after two minutes") {
  Owner owner;
  owner.run(2 * 3600);
  owner.stuck = true;
  owner.facts.withdrawn = "mode is off";
  owner.facts.pods[1].answer = PodAnswer::deferred;
  owner.facts.pods[1].message = "node has no room";
  owner.run(300);
  CHECK(owner.state.state == SizingState::restoring);
  CHECK(order_of(owner.state).kind == SizingOrderKind::restore);
  REQUIRE(!owner.notes.empty());
  CHECK(owner.notes.back().alarm);
  CHECK(owner.notes.back().why == "node has no room");
  owner.stuck = false;
  owner.facts.pods[1].answer = PodAnswer::none;
  owner.run(20);
  CHECK(owner.state.state == SizingState::watched);
  CHECK(all_have(owner, owner.facts.original));
}

TEST_CASE("a rule that needs more than the lowered value restores the requests, and the next level covers it") {
  Owner owner;
  owner.run(6 * 3600);
  REQUIRE(all_have(owner, {0.5, 256 * kSizedMiB}));
  owner.facts.cpu_cores = 0.8;
  owner.run(60);
  CHECK(all_have(owner, owner.facts.original));
  CHECK(owner.state.rollbacks == 0);
  owner.facts.cpu_cores = 0.5;
  owner.run(5 * 3600);
  CHECK(all_have(owner, owner.facts.original));
  owner.run(8 * 3600);
  CHECK(owner.facts.pods[0].request.cpu_cores >= 0.8);
  CHECK(owner.facts.pods[0].request.cpu_cores < 0.8 / 0.9);
}

TEST_CASE("pods that start later follow once they are old enough, and deleted pods are forgotten") {
  Owner owner;
  owner.run(6 * 3600);
  owner.facts.pods.push_back({"new", owner.facts.original, true, {}, ""});
  owner.originals.push_back(owner.facts.original);
  owner.run(600);
  CHECK(owner.facts.pods.back().request.cpu_cores == 2);
  owner.facts.pods.back().young = false;
  owner.run(60);
  CHECK(owner.facts.pods.back().request.cpu_cores == 0.5);
  owner.facts.pods.erase(owner.facts.pods.begin());
  owner.originals.erase(owner.originals.begin());
  owner.run(60);
  CHECK(!owner.state.lowered.contains("u0"));
  CHECK(owner.state.lowered.size() == 2);
}

TEST_CASE("a state survives packing, and damaged bytes change nothing") {
  Owner owner(4);
  owner.run(2 * 3600);
  const std::string bytes = packed_state(owner.state);
  OwnerSizing again;
  PackReader in(bytes);
  again.unpack(in);
  REQUIRE(in.done());
  CHECK(packed_state(again) == bytes);
  for (std::size_t cut = 0; cut < bytes.size(); cut += 7) {
    OwnerSizing other;
    PackReader part(std::string_view(bytes).substr(0, cut));
    other.unpack(part);
    CHECK(packed_state(other) == packed_state(OwnerSizing()));
  }
}

TEST_CASE("the share of owners is stable for a seed, and a larger share includes the smaller one") {
  std::size_t tenth = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string owner = "shop/Deployment/web-" + std::to_string(i);
    CHECK(in_share(owner, 7, 0.1) == in_share(owner, 7, 0.1));
    if (in_share(owner, 7, 0.1)) {
      ++tenth;
      CHECK(in_share(owner, 7, 0.25));
    }
    CHECK(in_share(owner, 7, 1));
    CHECK(!in_share(owner, 7, 0));
  }
  CHECK(tenth > 140);
  CHECK(tenth < 260);
}

TEST_CASE(
    "laws: total requests rise only in a restoration, which is exact; bounds hold; a repeated step changes nothing") {
  CHECK(rc::check([] {
    Owner owner(*rc::gen::inRange<std::size_t>(1, 9));
    const SizingOptions options;
    const auto events = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 12), rc::gen::inRange(1, 400)));
    owner.run(3600);
    for (const auto& [event, ticks] : events) {
      if (event == 0) owner.shares = {*rc::gen::element(0.0, 0.2, 0.9), 0.0, 0.0};
      if (event == 1) owner.facts.cpu_cores = *rc::gen::element(0.1, 0.5, 1.5, 3.0);
      if (event == 2) owner.facts.memory_bytes = *rc::gen::element(64.0, 512.0, 2048.0) * kSizedMiB;
      if (event == 3) owner.stuck = !owner.stuck;
      if (event == 4) owner.facts.withdrawn = owner.facts.withdrawn.empty() ? "mode is off" : "";
      if (event == 5) owner.facts.barred = owner.facts.barred.empty() ? "hand is silent" : "";
      if (event == 6) owner.harm.killed(owner.now_s);
      if (event == 7) owner.facts.others_in_flight = *rc::gen::inRange<std::size_t>(0, 7);
      if (event == 8) owner.facts.refused = owner.facts.refused.empty() ? "an autoscaler scales it" : "";
      if (event == 9) owner.facts.pods[0].answer = *rc::gen::element(PodAnswer::none, PodAnswer::deferred);
      for (int i = 0; i < ticks; ++i) {
        const double before = owner.total_cores();
        const bool withdrawn = !owner.facts.withdrawn.empty();
        const std::size_t steps = owner.state.steps;
        owner.tick();
        const SizingStep again = step(owner.state, owner.facts, owner.now_s, options);
        // Pods have followed the order since, so only a state that waits for nothing may change; orders stay.
        if (owner.stuck) {
          RC_ASSERT(packed_state(again.state) == packed_state(owner.state));
          RC_ASSERT(again.notes.empty());
        }
        if (owner.total_cores() > before + 1e-9) RC_ASSERT(order_of(owner.state).kind == SizingOrderKind::restore);
        if (withdrawn) RC_ASSERT(owner.state.steps == steps);
        RC_ASSERT(pods_in_flight(owner.state) <= options.pods_at_a_time);
        RC_ASSERT(pods_ordered(owner.state, owner.now_s) <= options.pods_per_hour);
        for (std::size_t pod = 0; pod < owner.facts.pods.size(); ++pod) {
          const Resources& has = owner.facts.pods[pod].request;
          RC_ASSERT(has.cpu_cores <= owner.originals[pod].cpu_cores);
          RC_ASSERT(has.memory_bytes <= owner.originals[pod].memory_bytes);
          if (!owner.state.lowered.contains(owner.facts.pods[pod].uid)) {
            RC_ASSERT(has.cpu_cores == owner.originals[pod].cpu_cores);
            RC_ASSERT(has.memory_bytes == owner.originals[pod].memory_bytes);
          }
        }
        if (owner.state.state == SizingState::lowering && owner.facts.memory_bytes)
          RC_ASSERT(owner.state.target.memory_bytes >=
                    std::min(*owner.facts.memory_bytes, owner.facts.original.memory_bytes) * 0.98);
      }
    }
  }));
}
