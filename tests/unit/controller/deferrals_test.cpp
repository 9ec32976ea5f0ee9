// deferrals: an ask that permits it may be deferred, at most until its deadline. Room is kept for the next pods.
#include "controller/decisions/deferrals.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "controller/decisions/decision_row.hpp"
#include "tests/unit/controller/live_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

const std::vector<std::string> kBoth{"n1", "n2"};

wire::Ask asked(const std::string& uid, double cores, double defer_ms = 0) {
  wire::Ask ask = ask_for(uid, kBoth);
  ask.cpu_request_cores = cores;
  ask.defer_ms = defer_ms;
  return ask;
}

// Nodes of 8 cores, each with a pod of 6.
void fill(LiveRig& rig) {
  for (const char* uid : {"big-1", "big-2"}) {
    REQUIRE(!rig.decider->asks().ask(asked(uid, 6)).neutral);
    rig.decider->placements().placed(uid, rig.decider->log().newest(uid)->decision.advice, false);
  }
}

}  // namespace

TEST_CASE("a pod that fits no node gets a deferral with its reason and end, and no node at its deadline") {
  LiveRig rig;
  fill(rig);
  const auto wait = rig.decider->asks().ask(asked("p", 4, 30'000));
  CHECK(wait.neutral);
  CHECK(wait.again_ms == 5000);
  CHECK(wait.defer_left_ms == doctest::Approx(30'000));
  CHECK(wait.reason == "deferred: no feasible node now");
  CHECK(wait.scores == std::vector<std::int64_t>{0, 0});
  const wire::Decision& decision = rig.decider->log().newest("p")->decision;
  CHECK(decision.decided_by == "defer");
  CHECK(decision.defer_until_ns == decision.wall_ns + 30 * kSecondNs);
  CHECK(rig.decider->figures().by("defer") == 1);
  const auto document = rig.get("explain", {{"pod", "p"}});
  REQUIRE(document);
  CHECK((*document)["decision"]["deferred"]["again_s"] == 5.0);
  rig.clock.advance(28s);
  CHECK(rig.decider->asks().ask(asked("p", 4, 30'000)).again_ms == doctest::Approx(2000));
  rig.clock.advance(2s);
  const auto late = rig.decider->asks().ask(asked("p", 4, 30'000));
  CHECK(late.again_ms == 0);
  CHECK(late.reason.starts_with("no candidate is feasible"));
}

TEST_CASE("the answer is repeated until it is time to ask again, and the pod is placed once there is room") {
  LiveRig rig;
  fill(rig);
  const auto first = rig.decider->asks().ask(asked("p", 4, 30'000));
  rig.clock.advance(1s);
  CHECK(rig.decider->asks().ask(asked("p", 4, 30'000)).decision_id == first.decision_id);
  CHECK(rig.decider->figures().decisions == 3);
  rig.decider->placements().gone("big-1", rig.decider->log().newest("big-1")->decision.placed_on);
  rig.clock.advance(4s);
  rig.tick({});
  const auto placed = rig.decider->asks().ask(asked("p", 4, 30'000));
  CHECK(!placed.neutral);
  CHECK(placed.again_ms == 0);
}

TEST_CASE("a client that does not permit waiting gets no deferral, whatever another ask permitted") {
  LiveRig rig;
  fill(rig);
  CHECK(rig.decider->asks().ask(asked("p", 4)).again_ms == 0);
  CHECK(rig.decider->asks().ask(asked("p", 4, 30'000)).again_ms > 0);  // although the previous answer is recent
  CHECK(rig.decider->asks().ask(asked("q", 4, 30'000)).again_ms > 0);
  CHECK(rig.decider->asks().ask(asked("q", 4)).again_ms == 0);
  wire::Ask nameless = asked("", 4, 30'000);
  CHECK(rig.decider->asks().ask(nameless).again_ms == 0);
}

TEST_CASE("a negative or zero permission permits no waiting, and an unlimited one is capped at the maximum") {
  LiveRig rig;
  fill(rig);
  for (const double none : {std::numeric_limits<double>::quiet_NaN(), -1.0, -1e300})
    CHECK(rig.decider->asks().ask(asked("none", 4, none)).again_ms == 0);
  const auto endless = rig.decider->asks().ask(asked("endless", 4, std::numeric_limits<double>::infinity()));
  CHECK(endless.again_ms > 0);
  CHECK(endless.defer_left_ms <= seconds(Deferrals::kLongest) * 1e3);
}

TEST_CASE("no pod is deferred in a mode that does not act") {
  LiveRig rig(Mode::shadow);
  const auto answer = rig.decider->asks().ask(asked("p", 7.9, 30'000));
  CHECK(answer.again_ms == 0);
  rig.decider->asks().ask(asked("q", 7.9, 30'000));
  CHECK(rig.decider->asks().ask(asked("r", 7.9, 30'000)).again_ms == 0);
  CHECK(rig.decider->figures().by("defer") == 0);
}

TEST_CASE("a deadline survives a restart") {
  LiveRig rig;
  fill(rig);
  REQUIRE(rig.decider->asks().ask(asked("p", 4, 30'000)).again_ms > 0);
  const auto row = decision_row(*rig.decider->log().newest("p"));
  LiveRig next;
  for (int passed_s = 0; passed_s < 20; ++passed_s) next.tick({});
  auto entry = parse_decision(row);
  REQUIRE(entry);
  entry->decision.id = 0;  // this decider counts from 1
  next.decider->recall(std::move(*entry));
  fill(next);
  const auto again = next.decider->asks().ask(asked("p", 4, 30'000));
  CHECK(again.again_ms > 0);
  CHECK(again.defer_left_ms == doctest::Approx(10'000));
  next.clock.advance(11s);
  CHECK(next.decider->asks().ask(asked("p", 4, 30'000)).again_ms == 0);
}

TEST_CASE("pods that the ask names as next have room kept for them") {
  LiveRig rig;
  REQUIRE(!rig.decider->asks().ask(asked("big", 6)).neutral);
  const std::string full = rig.decider->log().newest("big")->decision.advice, empty = full == "n1" ? "n2" : "n1";
  rig.decider->placements().placed("big", full, false);
  wire::Ask ask = asked("small", 1);
  ask.next.push_back({"batch", 7.5, 1e6});
  const auto answer = rig.decider->asks().ask(ask);
  REQUIRE(!answer.neutral);
  CHECK(rig.decider->log().newest("small")->decision.advice == full);
  CHECK(rig.decider->log().newest("small")->decision.next_pods == 1);
  ask.pod_uid = "other";
  ask.next.assign(40, {"batch", 0.1, 1e6});
  rig.decider->asks().ask(ask);
  CHECK(rig.decider->log().newest("other")->decision.next_pods == 16);
}

TEST_CASE("a pod is never deferred past its first deadline, and never for longer than permitted") {
  CHECK(rc::check([] {
    Deferrals deferrals;
    std::map<std::string, MonoTime> deadline;
    MonoTime now{};
    for (int step = 0; step < 60; ++step) {
      now += std::chrono::seconds(*rc::gen::inRange(0, 90));
      const std::string uid = *rc::gen::element<std::string>("a", "b", "c", "");
      const Duration permitted = std::chrono::seconds(*rc::gen::inRange(-5, 5000));
      const Duration left = deferrals.left(uid, permitted, now);
      RC_ASSERT(left >= Duration::zero());
      RC_ASSERT(left <= std::max(Duration::zero(), std::min(permitted, Deferrals::kLongest)));
      if (!uid.empty() && permitted > Duration::zero()) {
        const auto [found, fresh] = deadline.emplace(uid, now + std::min(permitted, Deferrals::kLongest));
        found->second = std::min(found->second, now + std::min(permitted, Deferrals::kLongest));
        RC_ASSERT(now + left == std::max(found->second, now));
      } else {
        RC_ASSERT(left == Duration::zero());
      }
      deferrals.expire(now);
      std::erase_if(deadline, [&](const auto& each) { return now - each.second >= Deferrals::kRemember; });
      RC_ASSERT(deferrals.size() == deadline.size());
    }
  }));
}

TEST_CASE("the number of deadlines is bounded, and an ask above the bound is placed") {
  Deferrals deferrals;
  for (std::size_t i = 0; i < Deferrals::kMax; ++i) REQUIRE(deferrals.left(std::to_string(i), 10s, MonoTime{}) == 10s);
  CHECK(deferrals.left("one more", 10s, MonoTime{}) == Duration::zero());
  CHECK(deferrals.left("7", 10s, MonoTime{} + 4s) == 6s);
  deferrals.expire(MonoTime{} + 10s + Deferrals::kRemember);
  CHECK(deferrals.size() == 0);
}
