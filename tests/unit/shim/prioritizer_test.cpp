#include "shim/prioritizer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace std::chrono_literals;
using wattle::Errc;
using wattle::fail;
using wattle::ManualClock;
using wattle::Result;
using wattle::shim::BoardKeeper;
using wattle::shim::Prioritizer;
using wattle::shim::Source;
using wattle::wire::Ask;
using wattle::wire::Board;
using wattle::wire::Suggestion;

namespace {

using NodeScores = std::vector<std::int64_t>;

struct Fixture {
  ManualClock clock;
  BoardKeeper board;
  wattle::shim::Breaker breaker{clock};
  std::vector<Ask> asked;
  Result<Suggestion> next = fail(Errc::timeout, "controller", "no answer");
  Prioritizer prioritizer{[this](const Ask& ask, std::chrono::milliseconds) {
                            asked.push_back(ask);
                            return next;
                          },
                          board, breaker, clock, 20ms};
  void answer(NodeScores scores) {
    Suggestion suggestion;
    suggestion.neutral = false;
    suggestion.scores = std::move(scores);
    next = suggestion;
  }
  void publish() {
    Board published;
    published.seq = 1;
    published.ttl_ms = 1000;
    published.neutral = false;
    published.classes = {{1.0, {{"a", 2}, {"b", 10}}}};
    board.receive(published, clock.mono());
  }
};

Ask pod(std::vector<std::string> candidates, std::string uid = "u1") {
  Ask ask;
  ask.pod_uid = std::move(uid);
  ask.candidates = std::move(candidates);
  return ask;
}

}  // namespace

TEST_CASE("the controller's scores are returned; each candidate is asked about once, and duplicates get equal scores") {
  Fixture f;
  f.answer({7, 10});
  const auto got = f.prioritizer.scores(pod({"a", "b", "a"}));
  CHECK(got.scores == NodeScores{7, 10, 7});
  CHECK(got.source == Source::controller);
  CHECK(got.reason == "scored");
  REQUIRE(f.asked.size() == 1);
  CHECK(f.asked[0].candidates == std::vector<std::string>{"a", "b"});
  CHECK(f.asked[0].deadline_ms == 20);
}

TEST_CASE("no candidates and a bound pod are neutral without an ask") {
  Fixture f;
  CHECK(f.prioritizer.scores(pod({})).scores.empty());
  auto bound = pod({"a", "b"});
  bound.node_name = "a";
  const auto got = f.prioritizer.scores(bound);
  CHECK(got.scores == NodeScores{0, 0});
  CHECK(got.source == Source::neutral);
  CHECK(got.reason == "already_bound");
  CHECK(f.asked.empty());
}

TEST_CASE("a neutral suggestion is all 0") {
  Fixture f;
  f.next = Suggestion{};
  const auto got = f.prioritizer.scores(pod({"a", "b"}));
  CHECK(got.scores == NodeScores{0, 0});
  CHECK(got.source == Source::controller);
  CHECK(got.reason == "neutral");
}

TEST_CASE("without the controller the board answers while it is valid, and then all nodes are equal") {
  Fixture f;
  f.publish();
  auto got = f.prioritizer.scores(pod({"a", "b", "c"}));
  CHECK(got.scores == NodeScores{2, 10, 0});
  CHECK(got.source == Source::board);
  CHECK(got.reason == "timed out");
  CHECK_FALSE(got.failure.empty());
  f.clock.advance(1500ms);
  got = f.prioritizer.scores(pod({"a", "b", "c"}));
  CHECK(got.scores == NodeScores{0, 0, 0});
  CHECK(got.source == Source::neutral);
  CHECK(got.reason == "board_stale");
}

TEST_CASE("once an answer says that no mode acts, neither the board nor earlier answers advise") {
  for (const char* mode : {"off", "shadow"}) {
    CAPTURE(mode);
    Fixture f;
    f.publish();
    f.answer({2, 10});
    CHECK(f.prioritizer.scores(pod({"a", "b"}, "before")).scores == NodeScores{2, 10});
    Suggestion stop;
    stop.mode = mode;
    f.next = stop;
    CHECK(f.prioritizer.scores(pod({"a", "b"})).scores == NodeScores{0, 0});
    f.next = fail(Errc::timeout, "controller", "no answer");
    CHECK(f.prioritizer.scores(pod({"a", "b"}, "later")).scores == NodeScores{0, 0});
    CHECK(f.prioritizer.scores(pod({"a", "b"}, "before")).scores == NodeScores{0, 0});
    // A control block of a canary does not end that: the next board has the acting mode.
    Board next;
    next.seq = 2;
    next.ttl_ms = 1000;
    next.neutral = false;
    next.classes = {{1.0, {{"a", 2}, {"b", 10}}}};
    f.board.receive(next, f.clock.mono());
    Suggestion control;
    control.mode = "canary";
    f.next = control;
    CHECK(f.prioritizer.scores(pod({"a", "b"}, "control")).scores == NodeScores{0, 0});
    f.next = fail(Errc::timeout, "controller", "no answer");
    CHECK(f.prioritizer.scores(pod({"a", "b"}, "after")).scores == NodeScores{2, 10});
  }
}

TEST_CASE("after three misses the controller is not asked until a probe is answered") {
  Fixture f;
  f.publish();
  for (int i = 0; i < 5; ++i) {
    const auto got = f.prioritizer.scores(pod({"a", "b"}));
    CHECK(got.scores == NodeScores{2, 10});
    CHECK(got.reason == (i < 3 ? "timed out" : "breaker_open"));
    CHECK(got.failure.empty() == (i >= 3));
  }
  CHECK(f.asked.size() == 3);
  f.clock.advance(1500ms);
  CHECK(f.prioritizer.scores(pod({"a", "b"})).reason == "board_stale");
  CHECK(f.asked.size() == 3);
  REQUIRE(f.breaker.begin_probe());
  CHECK(f.prioritizer.scores(pod({"a", "b"})).source == Source::neutral);
  f.breaker.end_probe(true);
  f.answer({7, 10});
  CHECK(f.prioritizer.scores(pod({"a", "b"})).source == Source::controller);
}

TEST_CASE("an invalid answer in time does not open the breaker") {
  Fixture f;
  f.answer({1});
  for (int i = 0; i < 10; ++i) (void)f.prioritizer.scores(pod({"a", "b"}));
  CHECK(f.asked.size() == 10);
}

TEST_CASE("an answer with scores other than integers 0 to 10 does not count") {
  for (const NodeScores& wrong : {NodeScores{1}, NodeScores{1, 2, 3}, NodeScores{-1, 2}, NodeScores{1, 11}}) {
    Fixture f;
    f.answer(wrong);
    const auto got = f.prioritizer.scores(pod({"a", "b"}));
    CHECK(got.scores == NodeScores{0, 0});
    CHECK(got.source == Source::neutral);
    CHECK(got.reason == "no_board");
  }
}

TEST_CASE("the same pod over the same candidates gets the same answer for two seconds") {
  Fixture f;
  f.answer({7, 10});
  CHECK(f.prioritizer.scores(pod({"a", "b"})).scores == NodeScores{7, 10});
  f.answer({0, 1});
  f.clock.advance(1999ms);
  const auto again = f.prioritizer.scores(pod({"b", "a", "b"}));
  CHECK(again.scores == NodeScores{10, 7, 10});
  CHECK(again.source == Source::repeated);
  f.clock.advance(1ms);
  CHECK(f.prioritizer.scores(pod({"a", "b"})).scores == NodeScores{0, 1});
  CHECK(f.asked.size() == 2);
}

TEST_CASE("other candidates, another pod, a pod without UID and a board's answer are not repeated") {
  Fixture f;
  f.answer({7, 10});
  (void)f.prioritizer.scores(pod({"a", "b"}));
  (void)f.prioritizer.scores(pod({"a", "c"}));
  (void)f.prioritizer.scores(pod({"a", "b"}, "u2"));
  (void)f.prioritizer.scores(pod({"a", "b"}, ""));
  (void)f.prioritizer.scores(pod({"a", "b"}, ""));
  CHECK(f.asked.size() == 5);
  f.publish();
  f.next = fail(Errc::unavailable, "controller", "gone");
  CHECK(f.prioritizer.scores(pod({"a", "b"}, "u3")).source == Source::board);
  f.answer({4, 5});
  CHECK(f.prioritizer.scores(pod({"a", "b"}, "u3")).scores == NodeScores{4, 5});
}

TEST_CASE("the memory of answers is bounded") {
  Fixture f;
  f.answer({1});
  for (std::size_t i = 0; i < wattle::shim::kAnswersKept + 1; ++i)
    (void)f.prioritizer.scores(pod({"a"}, "u" + std::to_string(i)));
  CHECK(f.prioritizer.scores(pod({"a"}, "u1")).source == Source::repeated);
  CHECK(f.prioritizer.scores(pod({"a"}, "u0")).source == Source::controller);
}

// Sends each pod where its scores say, as kube-scheduler does if one node has 10 and the others at most 5.
TEST_CASE("six hundred pods without a controller keep every node within its start cap while others have room") {
  constexpr std::uint64_t kNodes = 100, kCap = 8;
  ManualClock clock;
  BoardKeeper board;
  Result<Suggestion> next = fail(Errc::timeout, "controller", "no answer");
  wattle::shim::Breaker breaker{clock};
  Prioritizer prioritizer{[&](const Ask&, std::chrono::milliseconds) { return next; }, board, breaker, clock, 20ms};
  Board published;
  published.seq = 1;
  published.ttl_ms = 3000;
  published.neutral = false;
  published.start_window_ms = 10'000;
  published.last_decision = 0;
  published.classes = {{1.0, {}}};
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < kNodes; ++i) {
    names.push_back("n" + std::to_string(i));
    published.classes[0].scores[names.back()] = i == 7 ? 10 : static_cast<std::int64_t>(1 + i % 5);
    published.starts_left[names.back()] = kCap;
  }
  board.receive(published, clock.mono());
  std::map<std::string, std::uint64_t> given;
  const auto place = [&](const std::string& uid) {
    const auto got = prioritizer.scores(pod(names, uid));
    const auto top = std::max_element(got.scores.begin(), got.scores.end());
    if (*top > 0) ++given[names[static_cast<std::size_t>(top - got.scores.begin())]];
    return got;
  };
  Suggestion advised;
  advised.neutral = false;
  advised.scores.assign(kNodes, 1);
  advised.scores[7] = 10;
  for (std::uint64_t i = 1; i <= 5; ++i) {  // the controller's last answers
    advised.decision_id = i;
    next = advised;
    place("early" + std::to_string(i));
  }
  next = fail(Errc::timeout, "controller", "no answer");
  for (int i = 0; i < 600; ++i) {
    clock.advance(4ms);
    CHECK(place("p" + std::to_string(i)).source == Source::board);
  }
  std::uint64_t all = 0;
  for (const auto& of : given) {
    CHECK_MESSAGE(of.second <= kCap, of.first);
    all += of.second;
  }
  CHECK(all == 605);
  for (int i = 600; i < 795; ++i) place("p" + std::to_string(i));
  const auto beyond = prioritizer.scores(pod(names, "beyond"));
  CHECK(beyond.source == Source::neutral);
  CHECK(beyond.reason == "start_cap");
}

TEST_CASE("a pod with soft preferences gets one point for its node, and its ask requests that") {
  Fixture f;
  f.answer({7, 10, 3});
  Ask ask = pod({"a", "b", "c"});
  ask.prefers = {"topology spread"};
  const auto got = f.prioritizer.scores(ask);
  CHECK(got.scores == NodeScores{0, 1, 0});
  CHECK(got.source == Source::controller);
  CHECK(f.asked.at(0).score_limit == 1);
  CHECK(f.prioritizer.scores(ask).scores == NodeScores{0, 1, 0});  // repeated
  f.answer({7, 10, 3});
  CHECK(f.prioritizer.scores(pod({"a", "b", "c"}, "u2")).scores == NodeScores{7, 10, 3});
  CHECK(f.asked.back().score_limit == 0);
}

TEST_CASE("scores are not limited if the scheduler's profile weighs preferences above them") {
  Fixture f;
  Prioritizer unbounded{
      [&](const Ask&, std::chrono::milliseconds) { return f.next; }, f.board, f.breaker, f.clock, 20ms, false};
  f.answer({7, 10});
  Ask ask = pod({"a", "b"});
  ask.prefers = {"topology spread"};
  CHECK(unbounded.scores(ask).scores == NodeScores{7, 10});
}

TEST_CASE("a board's answer for a pod with preferences or an owner is one point, whatever the profile's weights") {
  Fixture f;
  f.publish();
  Prioritizer unbounded{
      [&](const Ask&, std::chrono::milliseconds) { return f.next; }, f.board, f.breaker, f.clock, 20ms, false};
  Ask owned = pod({"a", "b"}, "u2"), preferring = pod({"a", "b"}, "u3");
  owned.owner = "default/Job/copy";
  preferring.prefers = {"node affinity"};
  CHECK(unbounded.scores(owned).scores == NodeScores{0, 1});
  CHECK(unbounded.scores(preferring).scores == NodeScores{0, 1});
  CHECK(unbounded.scores(pod({"a", "b"}, "u4")).scores == NodeScores{2, 10});
}
