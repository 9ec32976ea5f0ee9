// start_cap: no node gets more pods in a window than its cap, whether bindings are known at once, late or never.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <map>

#include "controller/kube/pod_reconciler.hpp"
#include "controller/publish/feed.hpp"
#include "placement/decide/board.hpp"
#include "tests/unit/controller/decider_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kCap = 8;  // of nodes with eight cores
constexpr Duration kWindow = 10s;

struct StartCapRig : DeciderRig {
  std::vector<std::string> names;
  Shims shims{std::vector<std::string>{"wattle"}};
  PodSink pods;
  std::optional<PodReconciler> join;
  std::map<std::string, std::deque<MonoTime>> bound_at;

  explicit StartCapRig(int nodes) : DeciderRig(Mode::live) {
    for (int i = 1; i <= nodes; ++i) names.push_back("n" + std::to_string(i));
    join.emplace(state, *decider, shims, pods, clock);
    for (const std::string& name : names) {
      state.greet(hello_of(name));
      join->greeted(name);
    }
    report();
    config.repeat_within = 0s;  // each ask is a new attempt
  }
  // Every node reports one second.
  void report() {
    ++seq;
    for (const std::string& name : names)
      decider->outcomes().record(name, record_of(name, seq), state.apply(name, record_of(name, seq), clock.mono()));
  }
  // Returns the node with the highest score; empty: neutral.
  std::string ask(const std::string& uid) {
    wire::Ask pod = ask_for(uid, names);
    pod.cpu_request_cores = 0.01;  // room is never the limit
    pod.memory_request_bytes = 1 << 20;
    const wire::Suggestion answer = decider->asks().ask(pod);
    if (answer.neutral) return {};
    return names[static_cast<std::size_t>(std::max_element(answer.scores.begin(), answer.scores.end()) -
                                          answer.scores.begin())];
  }
  void watch(const std::string& uid, const std::string& node) {
    kube::Pod pod;
    pod.uid = uid;
    pod.name = uid;
    pod.pod_namespace = "default";
    pod.app = "ReplicaSet/web nginx";
    pod.cpu_request_cores = 0.01;
    pod.node_name = node;
    join->take({}, {{uid, std::make_shared<const kube::Pod>(pod), true}});
    if (!node.empty()) bound_at[node].push_back(clock.mono());
  }
  // The most starts in any window that ends now.
  std::uint64_t most_started() const {
    std::uint64_t most = 0;
    for (const auto& [node, times] : bound_at)
      most = std::max<std::uint64_t>(
          most, static_cast<std::uint64_t>(std::count_if(times.begin(), times.end(),
                                                         [&](MonoTime at) { return at > clock.mono() - kWindow; })));
    return most;
  }
};

}  // namespace

TEST_CASE("a burst with immediate bindings keeps every node within its start cap, and then answers are neutral") {
  StartCapRig rig(10);
  int neutral = 0;
  for (int i = 0; i < 120; ++i) {
    const std::string uid = "p" + std::to_string(i);
    rig.watch(uid, "");
    const std::string node = rig.ask(uid);
    if (node.empty()) {
      ++neutral;
      continue;
    }
    rig.watch(uid, node);
    CHECK(rig.most_started() <= kCap);
    rig.clock.advance(10ms);
  }
  CHECK(neutral == 40);
  CHECK(rig.decider->log().newest("p119")->decision.reason == "no candidate is feasible: start cap reached");
  CHECK(rig.state.node_view("n1")->starts == kCap);
  for (int i = 0; i < 10; ++i) {
    rig.clock.advance(1s);
    rig.report();
  }
  CHECK(rig.ask("later") != "");
}

TEST_CASE("pods that ran before the controller started do not count as starts") {
  StartCapRig rig(1);
  for (int i = 0; i < 50; ++i) rig.decider->placements().bound("old" + std::to_string(i), "n1", false);
  CHECK(rig.state.node_view("n1")->starts == 0);
  CHECK(rig.state.node_view("n1")->pods == 50);
  CHECK(rig.ask("new") == "n1");
  CHECK(rig.state.node_view("n1")->starts == 1);
}

TEST_CASE("a pod that is advised again counts once, and one that is deleted unbound no longer counts") {
  StartCapRig rig(1);
  for (int i = 0; i < 5; ++i) CHECK(rig.ask("p") == "n1");
  CHECK(rig.state.node_view("n1")->starts == 1);
  rig.decider->placements().deleted("p");
  CHECK(rig.state.node_view("n1")->starts == 0);
  rig.ask("q");
  rig.watch("q", "n1");
  rig.decider->placements().deleted("q");  // it did start
  CHECK(rig.state.node_view("n1")->starts == 1);
}

TEST_CASE("starts never exceed the cap in any window, whatever the order and delay of bindings") {
  CHECK(rc::check([] {
    StartCapRig rig(3);
    struct Advised {
      std::string node;
      MonoTime at;
    };
    std::map<std::string, Advised> waiting;  // not bound yet
    int pods = 0;
    const int steps = *rc::gen::inRange(0, 150);
    for (int step = 0; step < steps; ++step) {
      const int what = *rc::gen::inRange(0, 10);
      if (what < 6 || waiting.empty()) {
        const std::string uid = "p" + std::to_string(pods++);
        const std::string node = rig.ask(uid);
        if (!node.empty()) waiting[uid] = {node, rig.clock.mono()};
      } else {
        auto one = std::next(waiting.begin(),
                             *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(waiting.size())));
        const bool expected = rig.clock.mono() - one->second.at < rig.config.in_flight_expiry;
        if (what < 8 && expected) {
          rig.watch(one->first, one->second.node);
          if (*rc::gen::arbitrary<bool>()) rig.decider->placements().deleted(one->first);
          waiting.erase(one);
        } else if (what <= 8) {
          const std::string again = rig.ask(one->first);
          if (again.empty())
            waiting.erase(one);
          else
            one->second = {again, rig.clock.mono()};
        } else {
          rig.decider->placements().deleted(one->first);
          waiting.erase(one);
        }
      }
      if (*rc::gen::inRange(0, 5) == 0) {
        rig.clock.advance(std::chrono::milliseconds(*rc::gen::inRange(1, 2500)));
        rig.report();
        rig.decider->expire();
      }
      RC_ASSERT(rig.most_started() <= kCap);
    }
  }));
}

TEST_CASE("a board has the remaining starts of each node that it names, and its latest known decision") {
  StartCapRig rig(2);
  const std::string first = rig.ask("p1");
  rig.ask("p2");
  const wire::Board board = board_of(*rig.decider, rig.networks);
  CHECK(board.last_decision == 2);
  CHECK(board.start_window_ms == 10'000);
  std::uint64_t left = 0;
  for (const auto& [node, starts] : board.starts_left) {
    CHECK(starts == kCap - rig.state.node_view(node)->starts);
    left += starts;
  }
  CHECK(board.starts_left.size() == 2);
  CHECK(left == 2 * kCap - 2);
}
