#include "lab/policies/lab_policies.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "lab/policies/makers.hpp"
#include "placement/decide/policies/cost.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim {

namespace {

using placement::NetworkOptions;
using placement::PolicyContext;
using placement::PolicyInfo;

class ByScore final : public placement::Policy {
 public:
  using Score = std::int64_t (*)(const placement::KubeNode&, const placement::KubePod&);
  ByScore(const PolicyInfo& info, Score by) : Policy(info), by_(by) {}
  void score(PolicyContext& context, std::span<double> values) override {
    for (const std::size_t row : context.feasible())
      values[row] = static_cast<double>(by_(context.kube_node(row), context.kube_pod()));
  }

 private:
  Score by_;
};
template <ByScore::Score kScore>
placement::MadePolicy by_score(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<ByScore>(info, kScore);
}

// The argmax heuristics of the latency scheduler's thesis.
std::int64_t fewest_pods(const placement::KubeNode& node, const placement::KubePod&) { return -node.pods; }
std::int64_t most_pods(const placement::KubeNode& node, const placement::KubePod&) { return node.pods; }
// Spreads, so that each application has its own node while there are enough.
std::int64_t empty_node(const placement::KubeNode& node, const placement::KubePod& pod) {
  constexpr std::int64_t kEmpty = 2 * placement::kMaxNodeScore;  // above the score of any node with pods
  return placement::least_allocated(node, pod) + (node.pods == 0 ? kEmpty : 0);
}

class Greedy final : public placement::CostPolicy {
  using CostPolicy::CostPolicy;
  double cost(PolicyContext& context, std::size_t row) override {
    return placement::added_cost_w(context.fleet(), context.node(row), context.ask());
  }
};

class RoundRobin final : public placement::Policy {
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    values[context.feasible()[context.turn % context.feasible().size()]] = 1;
  }
};

// The telemetry's noise makes the draws those of the episode's seed.
class AtRandom final : public placement::Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    double noise = 0;
    for (const placement::NodeView& node : context.view().nodes) noise += node.power_w.value_or(0);
    drawn_ = mix(drawn_ + context.turn, std::bit_cast<std::uint64_t>(noise));
    const auto feasible = context.feasible();
    values[feasible[drawn_ % feasible.size()]] = 1;
  }

 private:
  std::uint64_t drawn_ = 0x72616e646f6dULL;
};
template <class Made>
placement::MadePolicy make_one(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<Made>(info);
}

constexpr std::array<PolicyInfo, 12> kLabPolicies{{
    {"peaks", "least added watts on exponential curves", placement::make_peaks},
    {"least-allocated", "least of cpu and memory requested", by_score<placement::least_allocated>},
    {"most-allocated", "most of cpu and memory requested", by_score<placement::most_allocated>},
    {"greedy", "least added watts", make_one<Greedy>},
    {"round-robin", "next in turn", make_one<RoundRobin>},
    {"random", "at random", make_one<AtRandom>},
    {"empty-node", "a node without pods, or the least allocated", by_score<empty_node>},
    {"target-load-packing", "nearest below 40% of predicted use", placement::make_target_load_packing},
    {"lvrb", "least mean and deviation of use", placement::make_lvrb},
    {"koordinator", "least use, what was bound since the last report included", placement::make_koordinator},
    {"fewest-pods", "fewest pods", by_score<fewest_pods>},
    {"most-pods", "most pods", by_score<most_pods>},
}};
constexpr std::array<std::string_view, 5> kSchedulers{"target-load-packing", "lvrb", "koordinator", "fewest-pods",
                                                      "most-pods"};

}  // namespace

Result<Contestant> lab_contestant(std::string_view name, const models::QNetwork* network) {
  const auto own =
      std::find_if(kLabPolicies.begin(), kLabPolicies.end(), [&](const auto& each) { return each.name == name; });
  if (own != kLabPolicies.end()) {
    const bool alone = std::find(kSchedulers.begin(), kSchedulers.end(), name) != kSchedulers.end();
    Contestant made{std::string(name), alone ? Binding::alone : Binding::advised, std::string(name)};
    made.made_by = &*own;
    return made;
  }
  auto found = contestant_named(name, network);
  if (!found && found.error().code == Errc::not_found && network == nullptr)
    for (const PolicyInfo& each : kLabPolicies) found.error().fix += ", " + std::string(each.name);
  return found;
}

}  // namespace wattle::sim
