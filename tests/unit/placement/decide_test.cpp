// decide: invariants of advice on any cluster.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "placement/cluster/view_fleet.hpp"
#include "placement/decide/board.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/fleet_choice.hpp"
#include "tests/unit/placement/use_pod.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using testing::healthy_node;
using testing::names_of;
using testing::random_view;
using testing::small_pod;

// decide() with a given policy, without a cluster model.
PlacementDecision advise(const ClusterView& view, const PodSpec& pod, const std::vector<std::string>& candidates,
                         std::mt19937_64& random, const char* name = "dqn", const DecideOptions& options = {},
                         const models::QNetwork* network = nullptr, std::uint64_t turn = 0) {
  const auto policy = make_policy(name).value();
  return decide(view, pod, candidates, {*policy, network}, options, turn, random);
}

ClusterView fleet(std::size_t count) {
  ClusterView view;
  for (std::size_t i = 0; i < count; ++i)
    view.nodes.push_back(healthy_node("n" + std::to_string(i), 8 + 4 * static_cast<double>(i % 5)));
  return view;
}

TEST_CASE("unknown and repeated names are answered, and not recorded one by one") {
  const ClusterView view = random_view(7, 4);
  std::vector<std::string> candidates;
  for (int i = 0; i < 5000; ++i) candidates.push_back("stranger-" + std::to_string(i));
  const std::vector<std::string> known = names_of(view);
  for (int i = 0; i < 3; ++i) candidates.insert(candidates.end(), known.begin(), known.end());
  const auto policy = make_policy("amortised").value();
  std::mt19937_64 random(1);
  const PlacementDecision advice = decide(view, small_pod(), candidates, {*policy}, {}, 1, random);
  REQUIRE(advice.scores.size() == candidates.size());
  CHECK(advice.record.candidates.size() == kUnknownRecorded + known.size());
  CHECK(advice.recorded.size() == advice.record.candidates.size());
  REQUIRE(advice.record.problems.size() == 1);
  CHECK(advice.record.problems[0] == "5000 candidates are unknown nodes; listing the first 32");
  for (std::size_t i = 0; i < known.size(); ++i) {
    const wire::Candidate& entry = advice.record.candidates[kUnknownRecorded + i];
    CHECK(entry.node == known[i]);
    for (std::size_t time = 0; time < 3; ++time) CHECK(advice.scores[5000 + time * known.size() + i] == entry.score);
  }
}

TEST_CASE("a masked node never gets a score, and unknown ones get 0, under every policy") {
  CHECK(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const ClusterView view = random_view(seed, *rc::gen::inRange<std::size_t>(0, 12));
    PodSpec pod = small_pod();
    if (*rc::gen::arbitrary<bool>()) pod.latency_hard_ms = 30;
    std::vector<std::string> candidates = names_of(view);
    candidates.insert(candidates.begin(), "stranger");
    DecideOptions options;
    const PolicyInfo info = policies()[*rc::gen::inRange<std::size_t>(0, policies().size())];
    options.epsilon = 0.3;
    const testing::MixtureNetwork network;
    std::mt19937_64 random(seed);
    const auto policy = make_policy(info.name).value();
    ClusterModel cluster_model;
    ClusterModel* known = *rc::gen::arbitrary<bool>() ? &cluster_model : nullptr;
    const PlacementDecision advice = decide(view, pod, candidates, {*policy, &network, known}, options, seed, random);
    RC_ASSERT(advice.record.policy == info.name);
    RC_ASSERT(advice.scores.size() == candidates.size());
    RC_ASSERT(advice.record.candidates.size() == candidates.size());
    RC_ASSERT(advice.scores[0] == 0);
    RC_ASSERT(advice.record.candidates[0].masked == "unknown node");
    std::size_t feasible = 0;
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      const std::string_view reason = mask_reason(view.nodes[i], pod, options.mask);
      RC_ASSERT(advice.record.candidates[i + 1].masked == reason);
      if (reason.empty()) ++feasible;
      if (!reason.empty()) RC_ASSERT(advice.scores[i + 1] == 0);
      if (pod.latency_hard_ms && advice.scores[i + 1] > 0) {
        RC_ASSERT(latency_for(view.nodes[i], pod).has_value());
        RC_ASSERT(*latency_for(view.nodes[i], pod) <= *pod.latency_hard_ms);
      }
    }
    // Equal nodes get no advice.
    const bool equal = feasible > 1 && advice.record.decided_by == "neutral";
    RC_ASSERT(advice.top.has_value() == (feasible > 0 && !equal));
    if (advice.top) {
      RC_ASSERT(advice.scores[*advice.top] == 10);
      RC_ASSERT(advice.record.propensity > 0);
      RC_ASSERT(std::count(advice.scores.begin(), advice.scores.end(), 10) == 1);
    } else {
      RC_ASSERT(!advice.record.reason.empty());
      RC_ASSERT(advice.record.advice.empty());
      RC_ASSERT(std::count(advice.scores.begin(), advice.scores.end(), 0) ==
                static_cast<std::ptrdiff_t>(advice.scores.size()));
    }
  }));
}

TEST_CASE("with many candidates only the best are scored, and no unscored node is better than a scored one") {
  CHECK(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const ClusterView view = random_view(seed, *rc::gen::inRange<std::size_t>(90, 300));
    const testing::MixtureNetwork network;
    std::mt19937_64 random(seed);
    const char* policies[] = {"dqn", "kube-default", "node-order", "planner"};
    const PlacementDecision advice =
        advise(view, small_pod(), names_of(view), random, policies[*rc::gen::inRange(0, 4)], {}, &network);
    double least_scored = INFINITY, most_unscored = -INFINITY;
    std::size_t scored = 0;
    for (std::size_t i = 0; i < advice.scores.size(); ++i) {
      if (!advice.record.candidates[i].masked.empty() || i == advice.top) continue;
      const double value = advice.values[advice.row_of[i]];
      if (advice.scores[i] > 0) ++scored;
      (advice.scores[i] > 0 ? least_scored : most_unscored) =
          advice.scores[i] > 0 ? std::min(least_scored, value) : std::max(most_unscored, value);
    }
    RC_ASSERT(scored <= kRanked);
    RC_ASSERT(least_scored >= most_unscored);
    RC_ASSERT(!advice.top || advice.scores[*advice.top] == 10);
  }));
}

TEST_CASE("permuting the candidates permutes the scores") {
  CHECK(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const ClusterView view = random_view(seed, 9);
    std::vector<std::string> candidates = names_of(view);
    const testing::MixtureNetwork network;
    std::mt19937_64 random(seed);
    const PlacementDecision first = advise(view, small_pod(), candidates, random, "dqn", {}, &network);
    std::map<std::string, std::pair<std::int64_t, double>> by_name;
    std::set<double> distinct;
    std::size_t feasible = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const wire::Candidate& entry = first.record.candidates[i];
      by_name[candidates[i]] = {first.scores[i], entry.q};
      if (!entry.masked.empty()) continue;
      ++feasible;
      distinct.insert(std::round(entry.q * 1e4));
    }
    if (distinct.size() < feasible) return;  // ties of the random generator
    ClusterView turned = view;
    std::shuffle(turned.nodes.begin(), turned.nodes.end(), random);
    std::shuffle(candidates.begin(), candidates.end(), random);
    const PlacementDecision second = advise(turned, small_pod(), candidates, random, "dqn", {}, &network);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& [score, q] = by_name[candidates[i]];
      RC_ASSERT(std::abs(second.record.candidates[i].q - q) < 1e-4);
      RC_ASSERT(std::abs(second.scores[i] - score) <= (score == 10 ? 0 : 1));
    }
  }));
}

TEST_CASE("no candidates, only unknown ones, and all masked are neutral, each with its reason") {
  std::mt19937_64 random(1);
  ClusterView view = fleet(2);
  CHECK(advise(view, small_pod(), {}, random).record.reason == "no candidates");
  const PlacementDecision unknown = advise(view, small_pod(), {"x", "y"}, random);
  CHECK(unknown.scores == std::vector<std::int64_t>{0, 0});
  CHECK(unknown.record.reason == "no candidate is a known node");
  for (NodeView& node : view.nodes) node.ready = false;
  const PlacementDecision masked = advise(view, small_pod(), names_of(view), random);
  CHECK(masked.record.reason == "no candidate is feasible: not ready");
  CHECK_FALSE(masked.top.has_value());
  const PlacementDecision one = advise(fleet(1), small_pod(), {"n0"}, random);
  CHECK(one.scores == std::vector<std::int64_t>{10});
  CHECK(one.record.propensity == 1);
}

TEST_CASE("propensities match the draws and sum to one over the safe set") {
  const ClusterView view = fleet(5);
  DecideOptions options;
  options.epsilon = 0.4;
  options.safe_margin = 0.02;
  std::mt19937_64 random(3);
  std::map<std::string, double> reported;
  std::map<std::string, int> drawn;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    const PlacementDecision advice = advise(view, small_pod(), names_of(view), random, "model-greedy", options);
    reported[advice.record.advice] = advice.record.propensity;
    ++drawn[advice.record.advice];
    const double best = std::max_element(advice.record.candidates.begin(), advice.record.candidates.end(),
                                         [](const auto& a, const auto& b) { return a.q < b.q; })
                            ->q;
    REQUIRE(advice.record.candidates[*advice.top].q >= best - options.safe_margin);
  }
  double sum = 0;
  for (const auto& [name, propensity] : reported) {
    sum += propensity;
    CHECK(static_cast<double>(drawn[name]) / kDraws == doctest::Approx(propensity).epsilon(0.1));
  }
  CHECK(sum == doctest::Approx(1));
}

TEST_CASE("two hundred asks within one telemetry interval spread over nodes") {
  ClusterView view = fleet(40);
  std::mt19937_64 random(4);
  for (int ask = 0; ask < 200; ++ask) {
    const PlacementDecision advice = advise(view, small_pod(), names_of(view), random);
    REQUIRE(advice.top.has_value());
    NodeView& node = view.nodes[*advice.top];
    ++node.in_flight;
    ++node.starts;
    node.in_flight_request.cpu_cores += small_pod().request.cpu_cores;
    node.in_flight_request.memory_bytes += small_pod().request.memory_bytes;
  }
  for (const NodeView& node : view.nodes) CHECK(node.starts <= StartCap{}.of(node.allocatable.cpu_cores));
}

TEST_CASE("fixed rules choose as their names say") {
  ClusterView view = fleet(3);
  for (NodeView& node : view.nodes) node.allocatable = {16, 64e9};
  view.nodes[0].requested = {8, 32e9};
  view.nodes[1].requested = {1, 1e9};
  view.nodes[2].requested = {15, 60e9};
  std::mt19937_64 random(5);
  const auto advised = [&](const char* policy) {
    return advise(view, small_pod(), names_of(view), random, policy).record.advice;
  };
  CHECK(advised("kube-default") == "n1");
  CHECK(advised("node-order") == "n0");
  for (const PolicyInfo& info : policies()) CHECK(parse_policy(info.name).value().name == info.name);
  const auto oracle = parse_policy("oracle");
  REQUIRE_FALSE(oracle.has_value());
  CHECK(oracle.error().fix.find("planner") != std::string::npos);
}

TEST_CASE("a cost policy advises its own choice among the open nodes of the fleet, and ranks the others") {
  ClusterView view = fleet(6);
  for (std::size_t i = 0; i < view.nodes.size(); ++i)
    view.nodes[i].curve = PowerCurve::prior(4 + 9 * static_cast<double>(i * 7 % 6));
  view.nodes[3].ready = false;
  std::mt19937_64 random(9);
  for (const char* name : {"planner", "amortised"}) {
    const PolicyInfo info = parse_policy(name).value();
    CAPTURE(info.name);
    Fleet alone = fleet_of(view);
    alone.nodes[3].open = false;
    alone.revision = 1;
    const auto chosen = testing::choose(*make_policy(info.name).value(), alone, ask_of(small_pod()));
    const PlacementDecision advice = advise(view, small_pod(), names_of(view), random, std::string(info.name).c_str());
    REQUIRE(chosen.has_value());
    CHECK(advice.record.advice == view.nodes[*chosen].name);
    CHECK(advice.record.propensity == 1);
    CHECK(advice.record.reason == info.reason);
    CHECK(advice.scores[3] == 0);
    CHECK(*std::max_element(advice.scores.begin(), advice.scores.end()) == 10);
    CHECK(std::count(advice.scores.begin(), advice.scores.end(), 0) < 5);
  }
}

TEST_CASE("the planner with a demand model sends heavy and light pods to different nodes") {
  ClusterView view;
  for (const char* name : {"flat", "steep"}) view.nodes.push_back(healthy_node(name, 16));
  for (NodeView& node : view.nodes) node.values.cpu_used_cores = 0;
  view.nodes[0].curve = PowerCurve::known({100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110});
  view.nodes[1].curve = PowerCurve::known({20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220});
  ClusterModel cluster_model;
  view.now = MonoTime{} + from_seconds(1);
  cluster_model.refresh(view);
  PodSpec heavy = small_pod(), light = small_pod();
  heavy.request = light.request = {1, 1e9};
  heavy.app = "Deployment/heavy h:1";
  light.app = "Deployment/light l:1";
  // A day of both kinds, with all 32 cores always requested.
  for (int hour = 0; hour < 24; ++hour) {
    for (int i = 0; i < 32; ++i) {
      PodSpec pod = i % 2 == 0 ? heavy : light;
      pod.uid = std::to_string(hour) + "/" + std::to_string(i);
      cluster_model.placed(pod, "elsewhere", view.now);
      testing::use_pod(cluster_model, pod.uid, i % 2 == 0 ? 0.95 : 0.05, 3600);
    }
    for (int tick = 0; tick < 12; ++tick) {
      view.now += from_seconds(300);
      view.nodes[0].requested = view.nodes[1].requested = {16, 16e9};
      cluster_model.refresh(view);
    }
    for (int i = 0; i < 32; ++i) cluster_model.gone(std::to_string(hour) + "/" + std::to_string(i), view.now);
  }
  view.nodes[0].requested = view.nodes[1].requested = {};
  REQUIRE(!cluster_model.fleet(view).expected_cores.empty());
  const auto policy = make_policy("planner").value();
  std::mt19937_64 random(10);
  heavy.demand_cores = cluster_model.predict(heavy).cores;
  light.demand_cores = cluster_model.predict(light).cores;
  CHECK(*heavy.demand_cores > 3 * *light.demand_cores);
  const PlacementDecision first =
      decide(view, heavy, names_of(view), {*policy, nullptr, &cluster_model}, {}, 0, random);
  const PlacementDecision second =
      decide(view, light, names_of(view), {*policy, nullptr, &cluster_model}, {}, 0, random);
  CHECK(first.record.advice == "flat");
  CHECK(second.record.advice == "steep");
}

// Raises one node by a fixed amount.
class Lifts final : public models::QNetwork {
 public:
  void residual(const models::Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
    out[node] = by;
  }
  std::uint64_t step() const override { return 1; }
  std::size_t node = 0;
  float by = 1;
};

TEST_CASE("the plan's choice is not reported as the highest Q if another is higher by less than the margin") {
  ClusterView view = fleet(2);
  view.nodes[0].curve = PowerCurve::known({100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110});
  view.nodes[1].curve = PowerCurve::known({20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220});
  view.now = MonoTime{} + from_seconds(1);
  ClusterModel cluster_model;
  cluster_model.refresh(view);
  Lifts network;
  const auto advice = [&](double margin) {
    NetworkOptions options;
    options.margin = margin;
    const auto policy = make_policy("dqn", options).value();
    std::mt19937_64 random(1);
    return decide(view, small_pod(), names_of(view), {*policy, &network, &cluster_model}, {}, 0, random).record;
  };
  // Whichever node the plan chooses, the other is 0.1 higher.
  const wire::Decision kept = advice(1000);
  const std::size_t pick = kept.advice == "n0" ? 0 : 1;
  const double behind = kept.candidates[pick].prior - kept.candidates[1 - pick].prior;
  network.node = 1 - pick;
  network.by = static_cast<float>(behind + 0.1);
  CHECK(advice(0.2).advice == kept.advice);
  CHECK(advice(0.2).reason == "the plan's choice: no other node's Q is higher by more than the network's margin");
  CHECK(advice(0.2).decided_by == "plan");
  CHECK(advice(0.05).advice != kept.advice);
  CHECK(advice(0.05).decided_by == "network");
  CHECK(advice(0.05).reason.starts_with("highest Q"));
  // If it is the highest, the reason says so.
  network.node = pick;
  CHECK(advice(0.2).advice == kept.advice);
  CHECK(advice(0.2).reason.starts_with("highest Q"));
}

TEST_CASE("the reason names what decided, for any network, margin and gate") {
  ClusterView view = fleet(4);
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    std::array<double, kCurvePoints> watts{};
    for (std::size_t k = 0; k < watts.size(); ++k) watts[k] = static_cast<double>((i + 1) * (20 + 10 * k));
    view.nodes[i].curve = PowerCurve::known(watts);
  }
  view.now = MonoTime{} + from_seconds(1);
  ClusterModel cluster_model;
  cluster_model.refresh(view);
  std::map<std::string, int> seen;
  Lifts network;
  std::mt19937_64 random(11);
  for (const std::string gate : {"", "the plan's choice: the network is gated"})
    for (const double margin : {0.0, 0.2, 1000.0})
      for (network.node = 0; network.node < view.nodes.size(); ++network.node)
        for (const float by : {0.0F, 0.05F, 0.15F, 5.0F}) {
          network.by = by;
          NetworkOptions options;
          options.margin = margin;
          const auto policy = make_policy("dqn", options).value();
          PolicyInputs inputs{*policy, gate.empty() ? &network : nullptr, &cluster_model};
          inputs.gate = gate;
          const wire::Decision made = decide(view, small_pod(), names_of(view), inputs, {}, 0, random).record;
          CAPTURE(gate);
          CAPTURE(margin);
          CAPTURE(network.node);
          CAPTURE(by);
          CAPTURE(made.reason);
          CHECK((made.decided_by == "plan") == made.reason.starts_with("the plan's choice"));
          CHECK((made.decided_by == "network") == made.reason.starts_with("highest Q"));
          CHECK(std::find(kDeciders.begin(), kDeciders.end(), made.decided_by) != kDeciders.end());
          if (!gate.empty()) CHECK(made.decided_by == "plan");
          ++seen[made.decided_by];
        }
  CHECK(seen["plan"] > 48);
  CHECK(seen["network"] > 0);
}

TEST_CASE("a bound pod is advised to its own node, and contradicting limits are reported") {
  const ClusterView view = fleet(3);
  PodSpec pod = small_pod();
  pod.node_name = "n2";
  pod.latency_soft_ms = 50;
  pod.latency_hard_ms = 20;
  std::mt19937_64 random(6);
  const PlacementDecision advice = advise(view, pod, names_of(view), random);
  CHECK(advice.record.advice == "n2");
  CHECK(advice.scores == std::vector<std::int64_t>{0, 0, 10});
  REQUIRE(advice.record.problems.size() == 1);
  CHECK(advice.record.problems[0].find("soft") != std::string::npos);
}

TEST_CASE("the board has ascending classes, each with one winner among the feasible nodes") {
  ClusterView view = fleet(4);
  view.nodes[1].ready = false;
  std::mt19937_64 random(8);
  const auto policy = make_policy("model-greedy").value();
  const auto classes = board_classes(view, {*policy}, {}, 0, random);
  REQUIRE(classes.size() == kBoardClassCores.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    CHECK(classes[i].cpu_request_cores == kBoardClassCores[i]);
    CHECK(classes[i].scores.count("n1") == 0);
    CHECK(std::count_if(classes[i].scores.begin(), classes[i].scores.end(),
                        [](const auto& entry) { return entry.second == 10; }) == 1);
  }
}

}  // namespace
}  // namespace wattle::placement
