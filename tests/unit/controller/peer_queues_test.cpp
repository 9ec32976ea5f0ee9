#include "controller/ingest/peer_queues.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>

#include "common/dir.hpp"
#include "controller/ingest/unsent.hpp"
#include "controller/limits.hpp"
#include "controller/state/cluster_state.hpp"
#include "tests/places.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;
using transport::Incoming;
using transport::Role;
using transport::Sent;

namespace {

Incoming from(const std::string& name, std::size_t bytes = 100, const std::string& route = "r") {
  return {route, {Role::agent, name}, std::string(bytes, 'x'), "key"};
}

struct QueuesRig {
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  PeerQueues queues;
  explicit QueuesRig(PeerLimits limits) : queues(limits) {}
  bool push(const std::string& name, std::size_t bytes = 100) { return queues.push(from(name, bytes), clock.mono()); }
  // Serves one message for the given time and returns its peer; empty: no peer may be served.
  std::string serve(Duration takes) {
    const auto waiting = queues.next(clock.mono());
    if (!waiting) return {};
    clock.advance(takes);
    queues.charge(waiting->message.identity, takes, clock.mono());
    return waiting->message.identity.name;
  }
};

}  // namespace

TEST_CASE("a peer's burst delays another peer's message by at most one message") {
  QueuesRig rig(kAskLimits);
  for (int i = 0; i < 200; ++i) REQUIRE(rig.push("flood"));
  for (int round = 0; round < 50; ++round) {
    CHECK(rig.serve(3ms) == "flood");
    REQUIRE(rig.push("scheduler"));  // arrives while the flood's message is processed
    CHECK(rig.serve(1ms) == "scheduler");
    CHECK(rig.serve(3ms) == "flood");
  }
}

TEST_CASE("twenty flooding peers delay a light peer by one message in total, not by one each") {
  QueuesRig rig(kAskLimits);
  std::map<std::string, int> served;
  for (int turn = 0; turn < 2000; ++turn) {
    for (int i = 0; i < 20; ++i) rig.push("flood-" + std::to_string(i));
    if (turn >= 100 && turn % 10 == 9) {  // at first no peer has used any time
      REQUIRE(rig.push("scheduler"));
      CHECK(rig.serve(500us) == "scheduler");
    }
    ++served[rig.serve(2ms)];
  }
  // The flooding peers get equal service among each other.
  for (int i = 0; i < 20; ++i) CHECK(served["flood-" + std::to_string(i)] == doctest::Approx(100).epsilon(0.1));
}

TEST_CASE("a peer that has used more than its tolerance waits, and gets its share in the long run") {
  QueuesRig rig(kTelemetryLimits);
  Duration used{};
  const MonoTime begun = rig.clock.mono();
  while (rig.clock.mono() - begun < 60s) {
    rig.push("greedy");
    if (rig.serve(10ms) == "greedy")
      used += 10ms;
    else
      rig.clock.advance(1ms);
  }
  CHECK(seconds(used) <=
        60 * kTelemetryLimits.share + seconds(kTelemetryLimits.tolerance) * kTelemetryLimits.share + 0.02);
  CHECK(seconds(used) >= 60 * kTelemetryLimits.share);
}

TEST_CASE("a query of any length delays the same peer's next one by five seconds at most") {
  for (const Duration takes : {Duration(1500ms), Duration(10s), Duration(10min)}) {
    QueuesRig rig(kQueryLimits);
    REQUIRE(rig.push("operator"));
    CHECK(rig.serve(takes) == "operator");
    REQUIRE(rig.push("operator"));
    rig.clock.advance(5s);
    CHECK(rig.serve(1ms) == "operator");
  }
}

TEST_CASE("an agent with normal traffic is never delayed by its own quota") {
  QueuesRig rig(kTelemetryLimits);
  for (int s = 0; s < 600; ++s) {
    REQUIRE(rig.push("n1"));
    CHECK(rig.serve(1ms) == "n1");
    rig.clock.advance(999ms);
  }
}

TEST_CASE("the queue is bounded per peer and in total, and a new peer always has room") {
  QueuesRig rig({100, 10'000, 40'000, 1, 1h});
  while (rig.push("a", 500)) {
  }
  CHECK(rig.queues.bytes() <= 10'000);
  for (int i = 0; i < 100; ++i)
    while (rig.push("flood-" + std::to_string(i), 500)) {
    }
  // Each of the hundred has at least one message. The total is bounded, and the first peer does not have all of it.
  CHECK(rig.queues.bytes() <= 40'000 + 100 * 1000);
  CHECK(rig.push("scheduler", 500));
  CHECK(!rig.push("scheduler", 500));
  QueuesRig many({3, 10'000, 40'000, 1, 1h});
  for (int i = 0; i < 3; ++i) CHECK(many.push("a", 1));
  CHECK(!many.push("a", 1));
}

TEST_CASE("a message that finds no room is unchanged") {
  QueuesRig rig({1, 10'000, 40'000, 1, 1h});
  REQUIRE(rig.push("a"));
  Incoming second = from("a", 7, "route");
  CHECK(!rig.queues.push(std::move(second), rig.clock.mono()));
  CHECK(second.bytes == "xxxxxxx");
  CHECK(second.route == "route");
}

TEST_CASE("messages of one peer keep their order, and those of a closed connection are dropped") {
  QueuesRig rig(kQueryLimits);
  for (const char* route : {"a", "b", "a", "b"}) REQUIRE(rig.queues.push(from("cli", 10, route), rig.clock.mono()));
  CHECK(rig.queues.drop({Role::agent, "cli"}, "a") == 2);
  CHECK(rig.queues.messages() == 2);
  CHECK(rig.queues.next(rig.clock.mono())->message.route == "b");
  CHECK(rig.queues.next(rig.clock.mono())->message.route == "b");
  CHECK(!rig.queues.next(rig.clock.mono()));
  CHECK(rig.queues.bytes() == 0);
  CHECK(rig.queues.drop({Role::agent, "cli"}, "a") == 0);
}

TEST_CASE("a message that is put back is its peer's next, after a pause that does not delay other peers") {
  QueuesRig rig(kQueryLimits);
  for (const char* route : {"a", "b"}) REQUIRE(rig.queues.push(from("stuck", 10, route), rig.clock.mono()));
  auto first = rig.queues.next(rig.clock.mono());
  REQUIRE(first);
  rig.queues.pause(first->message.identity, rig.clock.mono() + 20ms);
  rig.queues.put_back(std::move(*first));
  CHECK(rig.queues.messages() == 2);
  CHECK(!rig.queues.ready(rig.clock.mono()));
  REQUIRE(rig.push("other"));
  CHECK(rig.serve(0ms) == "other");
  rig.clock.advance(20ms);
  CHECK(rig.queues.next(rig.clock.mono())->message.route == "a");
  CHECK(rig.queues.next(rig.clock.mono())->message.route == "b");
  CHECK(rig.queues.bytes() == 0);
}

TEST_CASE("between other work only peers with little debt are served, although no peer is delayed for its own quota") {
  QueuesRig rig(kAskLimits);
  REQUIRE(rig.push("floods"));
  const auto served = rig.queues.next(rig.clock.mono());
  REQUIRE(served);
  rig.queues.charge(served->message.identity, 300ms, rig.clock.mono());  // 1.2 s at a share of a quarter
  REQUIRE(rig.push("floods"));
  CHECK(!rig.queues.next(rig.clock.mono(), kOwesLittle));
  CHECK(rig.queues.ready(rig.clock.mono()));
  REQUIRE(rig.push("light"));
  CHECK(rig.queues.next(rig.clock.mono(), kOwesLittle)->message.identity.name == "light");
  rig.clock.advance(200ms);
  CHECK(rig.queues.next(rig.clock.mono(), kOwesLittle)->message.identity.name == "floods");
}

TEST_CASE("a peer without messages or debt is forgotten") {
  QueuesRig rig(kTelemetryLimits);
  for (int i = 0; i < 10; ++i) rig.push("n" + std::to_string(i));
  while (!rig.serve(1ms).empty()) {
  }
  CHECK(rig.queues.peers() == 10);
  rig.clock.advance(2min);
  rig.queues.expire(rig.clock.mono());
  CHECK(rig.queues.peers() == 0);
}

TEST_CASE("docs/reference/fairness.md has the bounds that the code has") {
  const auto dir = Dir::open_(tests::source_dir() + "/docs/reference");
  REQUIRE(dir);
  const auto page = dir->read_file("fairness.md");
  REQUIRE(page);
  const auto has = [&](const std::string& row) {
    CAPTURE(row);
    CHECK(page->find(row) != std::string::npos);
  };
  const auto number = [](auto value) { return std::to_string(value); };
  const auto waits = [&](const PeerLimits& limits) {
    return "| a peer | " + number(limits.messages) + ", " + number(limits.bytes / kMiB) + " MiB of " +
           number(limits.all_bytes / kMiB) + " MiB |";
  };
  const auto time = [&](const PeerLimits& limits) {
    return "| a peer | " + number(std::lround(limits.share * 100)) + "% of the loop, " +
           number(std::lround(seconds(limits.tolerance) * limits.share * 1e3)) + " ms at once |";
  };
  has("| asks that wait " + waits(kAskLimits));
  has("| queries that wait " + waits(kQueryLimits));
  has("| telemetry that waits " + waits(kTelemetryLimits));
  PeerLimits within = kAskLimits;
  within.tolerance = kOwesLittle;
  has("| time for asks between other tasks " + time(within));
  has("| time for telemetry " + time(kTelemetryLimits));
  has("| time for queries " + time(kQueryLimits));
  has("| all | " + number(std::lround(kQueriesShare * 100)) + "% of the loop each |");
  has("| candidates | an ask | " + number(kMaxCandidates) + " |");
  has("| " + number(kAnswersQueue) + " in the library, " + number(Unsent::kMostBytes / kMiB) +
      " MiB or one answer beside |");
  has("| " + number(kAskQueue) + " on the ask socket, " + number(kTelemetryQueue) + " on telemetry |");
  has("| workloads | a node | " + number(kMaxWorkloads) + " |");
  has("| " + number(kMaxWorkloads) + " at once, " + number(std::lround(NewNameLimit::kNewPerS)) + " a second |");
  has("| pods that agents report | a node | " + number(kMaxPods) + " |");
  has("| requested pods without a node | all | " + number(kMaxAsked) + " |");
}

TEST_CASE("every message that enters the queue leaves it once, whatever the sequence") {
  CHECK(rc::check("counts are equal", [] {
    QueuesRig rig({8, 2'000, 6'000, 0.1, 10s});
    std::size_t in = 0, out = 0;
    for (int i = 0; i < 200; ++i) {
      const auto name = "p" + std::to_string(*rc::gen::inRange(0, 5));
      const auto what = *rc::gen::inRange(0, 4);
      if (what <= 1) in += rig.push(name, static_cast<std::size_t>(*rc::gen::inRange(1, 600))) ? 1 : 0;
      if (what == 2) out += rig.serve(std::chrono::milliseconds(*rc::gen::inRange(0, 50))).empty() ? 0 : 1;
      if (what == 3 && i % 20 == 0) out += rig.queues.drop({Role::agent, name}, "r");
      RC_ASSERT(rig.queues.messages() == in - out);
    }
    rig.clock.advance(10min);
    while (!rig.serve(0ms).empty()) ++out;
    RC_ASSERT(in == out);
    RC_ASSERT(rig.queues.bytes() == 0U);
  }));
}

TEST_CASE("answers wait for a connection that does not read, up to a limit, in order") {
  std::map<std::string, std::vector<std::string>> sent;
  std::map<std::string, Sent> state;
  Unsent answers([&](const std::string& route, std::string_view bytes) {
    if (state[route] == Sent::yes) sent[route].emplace_back(bytes);
    return state[route];
  });
  CHECK(answers.send("reads", "1"));
  state["stuck"] = Sent::full;
  const std::string big(Unsent::kMostBytes / 2, 'x');
  CHECK(answers.send("stuck", "1" + big));
  CHECK_FALSE(answers.send("stuck", "2" + big));
  answers.send("reads", "2");
  CHECK(sent["reads"] == std::vector<std::string>{"1", "2"});
  CHECK(answers.waits("stuck"));
  answers.flush();
  CHECK(answers.waits("stuck"));
  state["stuck"] = Sent::yes;
  answers.flush();
  CHECK(sent["stuck"] == std::vector<std::string>{"1" + big});
  CHECK(answers.empty());
  state["stuck"] = Sent::full;
  answers.send("stuck", "3");
  state["stuck"] = Sent::gone;
  answers.flush();
  CHECK(answers.empty());
}

TEST_CASE("a live message replaces a pending older live message of its peer, and no other") {
  using Sort = PeerQueues::Sort;
  QueuesRig rig(kTelemetryLimits);
  const auto push = [&](const std::string& name, std::size_t bytes, Sort sort, const std::string& route = "r") {
    return rig.queues.push(from(name, bytes, route), rig.clock.mono(), sort);
  };
  REQUIRE(push("a", 10, Sort::in_turn));
  REQUIRE(push("a", 20, Sort::live));
  REQUIRE(push("a", 30, Sort::placement));
  REQUIRE(push("b", 40, Sort::live));
  const std::size_t before = rig.queues.bytes();
  REQUIRE(push("a", 25, Sort::live));
  CHECK(rig.queues.messages() == 4);
  CHECK(rig.queues.bytes() == before + 5);
  REQUIRE(push("a", 26, Sort::live, "another connection"));
  CHECK(rig.queues.messages() == 5);
  std::vector<std::size_t> sizes;
  while (const auto waiting = rig.queues.next(rig.clock.mono()))
    if (waiting->message.identity.name == "a") sizes.push_back(waiting->message.bytes.size());
  CHECK(sizes == std::vector<std::size_t>{10, 25, 30, 26});
  CHECK(rig.queues.bytes() == 0);
}

TEST_CASE("a peer's placement is known to be pending until it is taken or dropped") {
  using Sort = PeerQueues::Sort;
  QueuesRig rig(kTelemetryLimits);
  const transport::Identity a{Role::agent, "a"}, b{Role::agent, "b"};
  REQUIRE(rig.queues.push(from("a"), rig.clock.mono(), Sort::placement));
  REQUIRE(rig.queues.push(from("b"), rig.clock.mono()));
  CHECK(rig.queues.holds_placement(a));
  CHECK_FALSE(rig.queues.holds_placement(b));
  auto taken = rig.queues.next(rig.clock.mono());
  REQUIRE(taken);
  CHECK_FALSE(rig.queues.holds_placement(a));
  rig.queues.put_back(std::move(*taken));
  CHECK(rig.queues.holds_placement(a));
  CHECK(rig.queues.drop(a, "r") == 1);
  CHECK_FALSE(rig.queues.holds_placement(a));
}
