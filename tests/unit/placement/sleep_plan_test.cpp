// sleep_plan: which nodes sleep, are emptied and wake, in clusters of known size.
#include "placement/sleep/sleep_plan.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "placement/sleep/plan_saving.hpp"

namespace wattle::placement::sleep {
namespace {

const WallTime kNow = wall_from_ns(1'800'000'000'000'000'000);

// Nodes of ten cores in order of preference; tests add the pods.
struct Cluster {
  explicit Cluster(std::size_t size) {
    config.rules.spare_nodes = 0;
    config.rules.spare_ratio = 0;
    config.rules.survive_node_loss = false;
    for (std::size_t i = 0; i < size; ++i) {
      FleetNode there;
      there.allocatable = {10, 1000};
      for (std::size_t k = 0; k < there.watts.size(); ++k) there.watts[k] = 100 + 10 * static_cast<double>(k);
      fleet.nodes.push_back(there);
      SleepNode node;
      node.name = "n" + std::to_string(i);
      node.facts.mode = SleepMode::automatic;
      node.facts.can_sleep = node.facts.can_wake = true;
      node.facts.depth = Depth::off;
      node.record.node = node.name;
      node.record.state = PowerState::awake;
      node.record.depth = Depth::off;
      node.record.round_trips = 3;
      node.order = static_cast<double>(i);
      nodes.push_back(node);
    }
  }
  void pod(std::size_t row, double cores) {
    const std::string uid = "p" + std::to_string(pods++);
    nodes[row].pods.push_back({uid, "d/" + uid, "owner-" + uid, {{cores, 1}, 0.5 * cores, 1e12}});
    fleet.nodes[row].requested.cpu_cores += cores;
    fleet.nodes[row].requested.memory_bytes += 1;
    fleet.nodes[row].used_cores += 0.5 * cores;
    ++fleet.nodes[row].pods;
  }
  void waits(double cores) {
    const std::string uid = "w" + std::to_string(pending.size());
    pending.push_back({uid, "d/" + uid, {{cores, 1}, 0.5 * cores, 1e12}});
  }
  void asleep(std::size_t row) {
    nodes[row].record.state = PowerState::asleep;
    nodes[row].record.marked = true;
    nodes[row].ready = false;
    fleet.nodes[row].open = false;
  }
  // Plans with the current demand as that of the last hour.
  SleepPlan plan(double recent_cores = -1) {
    double cores = 0;
    for (const FleetNode& node : fleet.nodes) cores += node.requested.cpu_cores;
    for (int minute = 60; minute > 0; --minute)
      outlook.observe(recent_cores < 0 ? cores : recent_cores, kNow - std::chrono::minutes(minute));
    outlook.observe(cores, kNow);
    SleepInputs in;
    in.now = kNow;
    in.fleet = &fleet;
    in.nodes = nodes;
    in.pending = pending;
    in.outlook = &outlook;
    in.ledger = &ledger;
    in.recommending = recommending;
    in.may_run = may_run;
    in.choose = choose;
    return plan_sleep(in, config);
  }
  ExcludedFor kept(const SleepPlan& plan, std::size_t row) const {
    for (const KeptAwake& each : plan.kept)
      if (each.row == row) return each.why.cause;
    return ExcludedFor::none;
  }

  Fleet fleet;
  std::vector<SleepNode> nodes;
  std::vector<PendingPod> pending;
  DemandOutlook outlook;
  SleepLedger ledger;
  SleepConfig config;
  bool recommending = false;
  std::function<bool(std::string_view, std::size_t)> may_run;
  std::function<std::optional<std::size_t>(const Fleet&, const PodEstimate&)> choose;
  std::size_t pods = 0;
};

std::vector<std::string> slept(const SleepPlan& plan) {
  std::vector<std::string> names;
  for (const SleepChoice& each : plan.sleeps) names.push_back(each.node);
  return names;
}
std::vector<std::string> woken(const SleepPlan& plan) {
  std::vector<std::string> names;
  for (const WakeChoice& each : plan.wakes) names.push_back(each.node);
  return names;
}
using Names = std::vector<std::string>;

TEST_CASE("empty nodes sleep, the last in the order first, while the rest covers the recent peak and the spare") {
  Cluster cluster(4);
  for (int i = 0; i < 5; ++i) cluster.pod(0, 1);
  SleepPlan plan = cluster.plan();
  CHECK(slept(plan) == Names{"n3", "n2", "n1"});
  CHECK(plan.watts == doctest::Approx(4 * 100 + 25));
  CHECK(plan.watts_after == doctest::Approx(125 + 3 * 9.75));
  CHECK(plan.sleeps[0].saved_j > 0);
  CHECK(plan.sleeps[0].break_even_s == doctest::Approx(200.6).epsilon(0.01));
  CHECK(cluster.kept(plan, 0) == ExcludedFor::one_drain);

  Cluster busy(4);
  busy.pod(0, 5);
  plan = busy.plan(15);  // fifteen cores within the last forty minutes
  CHECK(slept(plan) == Names{"n3", "n2"});
  CHECK(busy.kept(plan, 1) == ExcludedFor::spare);

  Cluster spare(4);
  spare.pod(0, 5);
  spare.config.rules.spare_nodes = 1;
  CHECK(slept(spare.plan()) == Names{"n3", "n2"});
}

TEST_CASE("a node does not sleep if it is expected to be needed within twice its break-even") {
  // Yesterday twelve cores were requested for an hour, from `begin` minutes after this time of day.
  const auto with_burst = [](int begin) {
    Cluster cluster(3);
    cluster.pod(0, 5);
    for (int minute = 0; minute < 1440; ++minute) {
      const bool burst = minute >= begin && minute < begin + 60;
      cluster.outlook.observe(burst ? 12 : 5, kNow - std::chrono::hours(24) + std::chrono::minutes(minute));
    }
    return cluster;
  };
  Cluster soon = with_burst(6);
  const SleepPlan plan = soon.plan();
  CHECK(slept(plan) == Names{"n2"});
  CHECK(soon.kept(plan, 1) == ExcludedFor::gap);

  const SleepPlan later = with_burst(60).plan();
  REQUIRE(slept(later) == Names{"n2", "n1"});
  CHECK(later.sleeps[1].gap_s == doctest::Approx(3300));  // ready one slot earlier
  CHECK(later.sleeps[0].gap_s == doctest::Approx(86'400));
}

TEST_CASE("the loss of the fullest node counts only for nodes that wake too late to take its pods") {
  Cluster cluster(4);
  for (int i = 0; i < 8; ++i) cluster.pod(0, 1);
  cluster.nodes[0].facts.mode = SleepMode::off;
  cluster.config.rules.survive_node_loss = true;
  CHECK(slept(cluster.plan()) == Names{"n3", "n2", "n1"});
  for (SleepNode& node : cluster.nodes) node.record.measured.wake_s = 600;
  const SleepPlan plan = cluster.plan();
  CHECK(slept(plan) == Names{"n3", "n2"});
  CHECK(cluster.kept(plan, 1) == ExcludedFor::spare);
}

TEST_CASE("the pods of a lost node wake a sleeping node before they are rescheduled, and are not pending yet") {
  Cluster cluster(3);
  for (int i = 0; i < 8; ++i) cluster.pod(0, 1);
  for (int i = 0; i < 8; ++i) cluster.pod(1, 1);
  cluster.asleep(2);
  cluster.nodes[1].record.state = PowerState::failed;
  cluster.fleet.nodes[1].open = false;
  const SleepPlan plan = cluster.plan(8);
  REQUIRE(woken(plan) == Names{"n2"});
  CHECK(plan.wakes[0].cause == WakeFor::lost_node);
  CHECK(plan.wakes[0].pods.size() == 6);  // two fit on n0
  CHECK(plan.unplaceable.empty());
}

TEST_CASE("rules take precedence over the order: an excluded node stays awake with a reason") {
  Cluster cluster(3);
  cluster.pod(0, 5);
  cluster.nodes[0].facts.mode = SleepMode::off;
  cluster.nodes[2].facts.control_plane = true;
  cluster.nodes[1].facts.mode = SleepMode::recommend;
  SleepPlan plan = cluster.plan();
  CHECK(slept(plan).empty());
  CHECK(cluster.kept(plan, 2) == ExcludedFor::control_plane);
  CHECK(cluster.kept(plan, 1) == ExcludedFor::only_recommended);
  cluster.recommending = true;
  plan = cluster.plan();
  CHECK(slept(plan) == Names{"n1"});
}

TEST_CASE("sleeps and wakes keep to their rates") {
  Cluster cluster(4);
  cluster.pod(0, 1);
  cluster.config.rules.sleeps_per_hour = 2;
  cluster.ledger.slept(kNow - std::chrono::minutes(10));
  SleepPlan plan = cluster.plan();
  CHECK(slept(plan) == Names{"n3"});
  CHECK(cluster.kept(plan, 2) == ExcludedFor::rate);

  Cluster asleep(4);
  for (int i = 0; i < 9; ++i) asleep.pod(0, 1);
  for (std::size_t row = 1; row < 4; ++row) asleep.asleep(row);
  asleep.config.rules.wakes_per_minute = 1;
  plan = asleep.plan(35);
  CHECK(woken(plan) == Names{"n1"});
  CHECK(plan.wakes[0].cause == WakeFor::demand);
}

TEST_CASE("pods that fit on no awake node wake as many sleeping nodes as they need, at once") {
  Cluster cluster(5);
  for (int i = 0; i < 8; ++i) cluster.pod(0, 1);
  for (std::size_t row = 1; row < 5; ++row) cluster.asleep(row);
  cluster.waits(2);
  SleepPlan plan = cluster.plan();
  CHECK(woken(plan).empty());  // it fits
  for (int i = 0; i < 4; ++i) cluster.waits(4);
  plan = cluster.plan();
  CHECK(woken(plan) == Names{"n1", "n2"});
  CHECK(plan.wakes[0].cause == WakeFor::pending_pod);
  CHECK(plan.wakes[0].pods.size() == 2);
  CHECK(plan.sleeps.empty());
  cluster.waits(11);
  plan = cluster.plan();
  CHECK(plan.unplaceable == Names{"w5"});
  cluster.may_run = [](std::string_view pod, std::size_t row) { return pod != "w1" || row == 4; };
  plan = cluster.plan();
  CHECK(std::ranges::count(woken(plan), "n4") == 1);
}

TEST_CASE(
    "a pod that its scheduler refuses on the awake nodes wakes one, and waits for a node that is already waking") {
  Cluster cluster(3);
  cluster.asleep(1);
  cluster.asleep(2);
  cluster.waits(1);
  CHECK(woken(cluster.plan()).empty());  // it fits
  cluster.pending[0].refused = true;
  SleepPlan plan = cluster.plan();
  REQUIRE(woken(plan) == Names{"n1"});
  CHECK(plan.wakes[0].pods == Names{"w0"});
  cluster.may_run = [](std::string_view, std::size_t row) { return row != 1; };
  CHECK(woken(cluster.plan()) == Names{"n2"});
  cluster.nodes[2].record.state = PowerState::waking;
  CHECK(woken(cluster.plan()).empty());
  cluster.may_run = [](std::string_view, std::size_t row) { return row == 0; };
  plan = cluster.plan();  // no sleeping node takes it either, and it does not keep the others awake
  CHECK(woken(plan).empty());
  CHECK(plan.unplaceable.empty());
}

TEST_CASE("a marked node is returned to service before a sleeping one is woken, and a waking node is not woken twice") {
  Cluster cluster(4);
  for (int i = 0; i < 10; ++i) cluster.pod(0, 1);
  cluster.asleep(1);
  cluster.asleep(2);
  cluster.asleep(3);
  cluster.nodes[3].record.state = PowerState::draining;
  cluster.waits(1);
  CHECK(woken(cluster.plan()) == Names{"n3"});
  cluster.nodes[3].record.state = PowerState::waking;
  CHECK(woken(cluster.plan()).empty());
}

TEST_CASE("nodes wake ahead of the usual demand at this time of day, and for a pod that is bound to them") {
  Cluster cluster(3);
  cluster.pod(0, 5);
  cluster.asleep(1);
  cluster.asleep(2);
  for (int minute = 0; minute < 1440; ++minute)
    cluster.outlook.observe(minute == 7 ? 12 : 5, kNow - std::chrono::hours(24) + std::chrono::minutes(minute));
  SleepPlan plan = cluster.plan();
  REQUIRE(woken(plan) == Names{"n1"});
  CHECK(plan.wakes[0].cause == WakeFor::expected_demand);

  Cluster bound(3);
  bound.pod(0, 1);
  bound.asleep(1);
  bound.asleep(2);
  bound.pod(2, 1);
  plan = bound.plan();
  REQUIRE(woken(plan) == Names{"n2"});
  CHECK(plan.wakes[0].cause == WakeFor::bound_pod);
  bound.nodes[1].facts.excluded_by = "firmware";
  CHECK(woken(bound.plan()) == Names{"n1", "n2"});
}

TEST_CASE("a node is emptied if each of its pods has a target and the saving per pod passes the threshold") {
  Cluster cluster(3);
  for (int i = 0; i < 4; ++i) cluster.pod(0, 1);
  for (int i = 0; i < 4; ++i) cluster.pod(1, 1);
  cluster.pod(2, 2);
  cluster.pod(2, 1);
  cluster.config.moves.moves_ratio = 0.5;
  SleepPlan plan = cluster.plan();
  REQUIRE(slept(plan) == Names{"n2"});
  const SleepChoice& choice = plan.sleeps[0];
  REQUIRE(choice.moves.size() == 2);
  CHECK(choice.moves[0].request.cpu_cores == 2);  // the largest first
  CHECK(choice.moves[0].target == "n0");
  CHECK(choice.saved_j > 0);
  CHECK(cluster.kept(plan, 0) == ExcludedFor::has_pods);

  cluster.config.least_j_per_move = 1e9;
  plan = cluster.plan();
  CHECK(plan.sleeps.empty());
  CHECK(cluster.kept(plan, 2) == ExcludedFor::saving);
  cluster.config.least_j_per_move = 1000;
  cluster.may_run = [](std::string_view pod, std::size_t row) { return pod != "p8" || row == 2; };
  plan = cluster.plan();
  CHECK(cluster.kept(plan, 2) == ExcludedFor::no_target);
  CHECK(slept(plan) == Names{"n1"});  // another one can be emptied into a node earlier in the order
  cluster.config.drains = false;
  CHECK(cluster.plan().sleeps.empty());
}

TEST_CASE("a node is emptied into another one of the same kind, in either order") {
  for (const std::size_t used : {std::size_t{0}, std::size_t{1}}) {
    CAPTURE(used);
    Cluster cluster(2);
    for (SleepNode& node : cluster.nodes) node.order = 20;
    cluster.nodes[1 - used].order = 20.5;  // fitted
    cluster.nodes[1 - used].facts.mode = SleepMode::off;
    for (int i = 0; i < 4; ++i) cluster.pod(1 - used, 1);
    cluster.pod(used, 1);
    const SleepPlan plan = cluster.plan();
    REQUIRE(plan.sleeps.size() == 1);
    CHECK(plan.sleeps[0].node == cluster.nodes[used].name);
    REQUIRE(plan.sleeps[0].moves.size() == 1);
    CHECK(plan.sleeps[0].moves[0].target == cluster.nodes[1 - used].name);
  }
}

TEST_CASE("only a recommendation has empty nodes and a drain at once, and its saving is that of both") {
  Cluster cluster(4);
  for (int i = 0; i < 4; ++i) cluster.pod(0, 1);
  cluster.pod(1, 1);
  cluster.config.moves.moves_ratio = 0.5;
  SleepPlan plan = cluster.plan();
  CHECK(slept(plan) == Names{"n3", "n2"});
  CHECK(cluster.kept(plan, 1) == ExcludedFor::one_drain);
  cluster.recommending = true;
  plan = cluster.plan();
  REQUIRE(slept(plan) == Names{"n3", "n2", "n1"});
  CHECK(plan.sleeps[0].moves.empty());
  CHECK(plan.sleeps[2].moves.size() == 1);
  CHECK(saved_w(plan) == doctest::Approx(saved_w(plan.sleeps[0]) + saved_w(plan.sleeps[1]) + saved_w(plan.sleeps[2])));
  CHECK(saved_w(plan.sleeps[0]) * plan.sleeps[0].gap_s == doctest::Approx(plan.sleeps[0].saved_j));
}

TEST_CASE("a drain does not start beside another one, for a pod that moved today, or at too slow a pace") {
  Cluster cluster(3);
  cluster.pod(0, 1);
  cluster.pod(1, 1);
  cluster.pod(1, 1);
  cluster.pod(2, 1);
  cluster.pod(2, 1);
  cluster.nodes[0].facts.mode = SleepMode::off;
  cluster.nodes[1].facts.mode = SleepMode::off;
  cluster.config.moves.moves_ratio = 0.5;
  CHECK(slept(cluster.plan()) == Names{"n2"});
  cluster.ledger.replaced_by("p4", kNow - std::chrono::hours(3));
  CHECK(cluster.kept(cluster.plan(), 2) == ExcludedFor::moved_recently);
  cluster.ledger = {};
  cluster.nodes[1].record.state = PowerState::draining;
  CHECK(cluster.kept(cluster.plan(), 2) == ExcludedFor::one_drain);
  cluster.nodes[1].record.state = PowerState::awake;
  cluster.config.longest_drain = std::chrono::minutes(30);
  cluster.config.moves.moves_ratio = 0.01;  // one pod an hour
  CHECK(cluster.kept(cluster.plan(), 2) == ExcludedFor::rate);
}

TEST_CASE("a node that another program empties is neither emptied nor a target, and sleeps once it is empty") {
  Cluster cluster(3);
  cluster.pod(0, 1);
  cluster.pod(1, 1);
  cluster.pod(2, 1);
  cluster.config.moves.moves_ratio = 0.5;
  REQUIRE(slept(cluster.plan()) == Names{"n2"});
  cluster.nodes[2].facts.emptied_by = "Cluster Autoscaler empties it";
  const SleepPlan beside = cluster.plan();
  REQUIRE(slept(beside) == Names{"n1"});
  CHECK(beside.sleeps[0].moves[0].target == "n0");
  CHECK(cluster.kept(beside, 2) == ExcludedFor::other_drain);
  cluster.nodes[0].facts.emptied_by = "another program evicted a pod";
  CHECK(slept(cluster.plan()).empty());  // n1 has no target left
  Cluster emptied(3);
  emptied.pod(0, 1);
  emptied.nodes[2].facts.emptied_by = "Cluster Autoscaler empties it";
  CHECK(slept(emptied.plan())[0] == "n2");
  emptied.nodes[2].facts.held_by = "it is cordoned, not by Wattle";
  CHECK(slept(emptied.plan()) == Names{"n1"});
  CHECK(emptied.kept(emptied.plan(), 2) == ExcludedFor::other_drain);
}

TEST_CASE("a ranking chooses targets only among nodes that the rules permit") {
  Cluster cluster(3);
  cluster.pod(0, 1);
  cluster.pod(1, 1);
  cluster.pod(2, 1);
  for (const std::size_t row : {std::size_t{0}, std::size_t{1}}) cluster.nodes[row].facts.mode = SleepMode::off;
  cluster.choose = [](const Fleet&, const PodEstimate&) { return std::optional<std::size_t>(1); };
  SleepPlan plan = cluster.plan();
  REQUIRE(plan.sleeps.size() == 1);
  CHECK(plan.sleeps[0].moves[0].target == "n1");
  cluster.choose = [](const Fleet&, const PodEstimate&) { return std::optional<std::size_t>(2); };  // the node itself
  plan = cluster.plan();
  REQUIRE(plan.sleeps.size() == 1);
  CHECK(plan.sleeps[0].moves[0].target == "n0");
}

TEST_CASE("the awake nodes always have room for the demand, every pod keeps a place, and each node has a reason") {
  CHECK(rc::check([] {
    const auto size = *rc::gen::inRange<std::size_t>(1, 9);
    Cluster cluster(size);
    cluster.config.rules.spare_nodes = *rc::gen::inRange<std::size_t>(0, 3);
    cluster.config.rules.survive_node_loss = *rc::gen::arbitrary<bool>();
    cluster.config.moves.moves_ratio = 0.01 * *rc::gen::inRange(1, 100);
    cluster.config.least_j_per_move = 0;
    for (std::size_t row = 0; row < size; ++row) {
      const int pods = *rc::gen::inRange(0, 6);
      if (*rc::gen::inRange(0, 4) == 0) {
        cluster.asleep(row);
        cluster.nodes[row].record.state = kPowerStates[*rc::gen::inRange<std::size_t>(0, kPowerStates.size())];
        continue;
      }
      for (int pod = 0; pod < pods; ++pod) cluster.pod(row, *rc::gen::inRange(1, 3));
      if (*rc::gen::inRange(0, 5) == 0) cluster.nodes[row].facts.mode = SleepMode::recommend;
    }
    for (int pod = *rc::gen::inRange(0, 4); pod > 0; --pod) cluster.waits(*rc::gen::inRange(1, 12));
    const double recent = *rc::gen::inRange(0, 60);
    const SleepPlan plan = cluster.plan(recent);

    std::vector<char> awake(size);
    for (std::size_t row = 0; row < size; ++row)
      awake[row] = takes_pods(cluster.nodes[row].record) && cluster.nodes[row].ready && cluster.fleet.nodes[row].open;
    std::vector<int> decided(size);
    double capacity = 0, requested = 0;
    std::vector<double> load(size);
    for (std::size_t row = 0; row < size; ++row) {
      load[row] = cluster.fleet.nodes[row].requested.cpu_cores;
      requested += load[row];
    }
    for (const SleepChoice& sleep : plan.sleeps) {
      RC_ASSERT(awake[sleep.row]);
      RC_ASSERT(cluster.nodes[sleep.row].facts.mode == SleepMode::automatic);
      RC_ASSERT(sleep.moves.size() == cluster.nodes[sleep.row].pods.size());
      RC_ASSERT(sleep.gap_s >= 2 * sleep.break_even_s);
      awake[sleep.row] = 0;
      ++decided[sleep.row];
    }
    for (const SleepChoice& sleep : plan.sleeps) {
      for (const Move& move : sleep.moves) {
        const auto target = static_cast<std::size_t>(std::stoi(move.target.substr(1)));
        RC_ASSERT(awake[target]);
        load[target] += move.request.cpu_cores;
        load[sleep.row] -= move.request.cpu_cores;
      }
    }
    for (std::size_t row = 0; row < size; ++row) {
      if (awake[row]) capacity += 10;
      RC_ASSERT(load[row] <= 10 + 1e-9);
    }
    if (!plan.sleeps.empty()) {
      RC_ASSERT(plan.wakes.empty());
      bool coming = false;
      for (const SleepNode& node : cluster.nodes)
        coming = coming || node.record.state == PowerState::waking || node.record.state == PowerState::probation ||
                 (node.record.state == PowerState::awake && node.record.marked);
      if (!coming) RC_ASSERT(capacity >= std::max(recent, requested));
    }
    for (const KeptAwake& kept : plan.kept) {
      RC_ASSERT(static_cast<bool>(kept.why));
      RC_ASSERT(!kept.why.reason.empty());
      ++decided[kept.row];
    }
    for (std::size_t row = 0; row < size; ++row) {
      const PowerState state = cluster.nodes[row].record.state;
      RC_ASSERT(decided[row] == (state == PowerState::awake || state == PowerState::blocked ? 1 : 0));
    }
  }));
}

}  // namespace
}  // namespace wattle::placement::sleep
