#include "placement/policy.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "placement/kube_scoring.hpp"
#include "placement/planner.hpp"

namespace wattle::placement {

namespace {

constexpr std::array<PolicyInfo, 12> kPolicies{{
    {"dqn", "highest Q: predicted reward and learned residual", true, true, {}},
    {"model-greedy", "highest predicted reward", false, true, {}},
    {"tabular-q", "highest Q of the table", true, true, {}},
    {"planner", "the plan's next place for a pod of this demand", false, false, "planner"},
    {"amortised", "least amortised watts", false, false, "amortised"},
    {"greedy", "least added watts", false, false, "greedy"},
    {"peaks", "least added watts on exponential curves", false, false, "peaks"},
    {"kube-default", "the default scheduler's own score", false, false, {}},
    {"least-allocated", "least of cpu and memory requested", false, false, {}},
    {"most-allocated", "most of cpu and memory requested", false, false, {}},
    {"round-robin", "next in turn", false, false, {}},
    {"random", "at random", false, false, {}},
}};

class HighestQ : public Policy {
 public:
  using Policy::Policy;
  void rank(const Question& question, std::span<double> values) override {
    std::copy(question.q.begin(), question.q.end(), values.begin());
  }
};

// The nodes that may be chosen.
std::vector<std::size_t> feasible_nodes(const Question& question) {
  std::vector<std::size_t> nodes;
  nodes.reserve(question.feasible.size());
  for (const std::size_t row : question.feasible) nodes.push_back(question.node[row]);
  return nodes;
}

// The network, on the plan of who knows the cluster. Where nobody does (sim/train) there is no plan to be seen.
class Learned final : public HighestQ {
 public:
  using HighestQ::HighestQ;
  void prepare(const Fleet& fleet) override { planner_.prepare(fleet); }
  void plan_with(PlanMaker* maker) override { planner_.plan_with(maker); }
  std::optional<PlanView> foresee(const Question& question) override {
    if (question.knowledge == nullptr) return std::nullopt;
    const Fleet& fleet = question.knowledge->fleet(question.view, feasible_nodes(question));
    return planner_.view(fleet, question.knowledge->ask(question.pod), question.node);
  }

 private:
  Planner planner_{PlannerOptions{}};
};

// Requests are all that a view tells: a pod that requests nothing weighs nothing on its node, where the scheduler would count
// 100m and 200 MiB.
class KubeScored final : public Policy {
 public:
  using Score = std::int64_t (*)(const KubeNode&, const KubePod&);
  KubeScored(const PolicyInfo& info, Score score) : Policy(info), score_(score) {}
  void rank(const Question& question, std::span<double> values) override {
    const KubePod pod = counted(question.pod.request);
    for (const std::size_t row : question.feasible) {
      const NodeView& view = question.view.nodes[question.node[row]];
      const KubePod there = counted({view.requested.cpu_cores + view.in_flight_request.cpu_cores,
                                     view.requested.memory_bytes + view.in_flight_request.memory_bytes});
      const KubePod size = counted(view.allocatable);
      KubeNode node;
      node.allocatable_milli_cpu = size.milli_cpu;
      node.allocatable_memory_bytes = size.memory_bytes;
      node.requested_milli_cpu = node.nonzero_milli_cpu = there.milli_cpu;
      node.requested_memory_bytes = node.nonzero_memory_bytes = there.memory_bytes;
      values[row] = static_cast<double>(score_(node, pod));
    }
  }

 private:
  // A view may say what is no number, or absurd.
  static KubePod counted(const Resources& amount) {
    // Its arithmetic is in integers: a hundred times a thousandth of a core must be one.
    const auto sane = [](double value, double most) {
      return std::isfinite(value) ? std::clamp(value, 0.0, most) : 0.0;
    };
    return kube_pod({sane(amount.cpu_cores, 1e12), sane(amount.memory_bytes, 1e15)});
  }

  Score score_;
};

class RoundRobinPolicy final : public Policy {
 public:
  using Policy::Policy;
  void rank(const Question& question, std::span<double> values) override {
    values[question.feasible[question.turn % question.feasible.size()]] = 1;
  }
};

// All alike: the draw among ties decides.
class AtRandom final : public Policy {
 public:
  using Policy::Policy;
  void rank(const Question&, std::span<double>) override {}
};

class ByRule final : public Policy {
 public:
  ByRule(const PolicyInfo& info, std::unique_ptr<Rule> rule) : Policy(info), rule_(std::move(rule)) {}

  void prepare(const Fleet& fleet) override { rule_->prepare(fleet); }
  void plan_with(PlanMaker* maker) override { rule_->plan_with(maker); }
  void rank(const Question& question, std::span<double> values) override {
    Fleet& fleet = fleet_for(question);
    const Ask ask = question.knowledge != nullptr ? question.knowledge->ask(question.pod) : ask_of(question.pod);
    const auto chosen = rule_->choose(fleet, ask);
    double best = -INFINITY, worst = INFINITY;
    for (const std::size_t row : question.feasible) {
      const double cost = rule_->cost(fleet, question.node[row], ask);
      values[row] = std::isfinite(cost) ? -cost : -1e9;
      best = std::max(best, values[row]);
      worst = std::min(worst, values[row]);
    }
    // The rule's choice is the best by a margin that no rounding takes; none (sizes that the plan has no place for): by cost.
    for (const std::size_t row : question.feasible)
      if (chosen && question.node[row] == *chosen) values[row] = best + std::max(1e-3, 0.01 * (best - worst));
  }

 private:
  Fleet& fleet_for(const Question& question) {
    if (question.knowledge != nullptr) return question.knowledge->fleet(question.view, feasible_nodes(question));
    constexpr std::uint64_t kReviseEvery = 64;  // decisions: nobody says when the curves moved
    const std::uint64_t revision = ++asked_ / kReviseEvery + 1;
    own_ = fleet_of(question.view);
    own_.revision = revision;
    own_.only = feasible_nodes(question);
    for (FleetNode& node : own_.nodes) node.open = false;
    for (const std::size_t row : own_.only) own_.nodes[row].open = true;
    return own_;
  }

  std::unique_ptr<Rule> rule_;
  Fleet own_;
  std::uint64_t asked_ = 0;
};

std::string names() {
  std::string text;
  for (const PolicyInfo& info : kPolicies) text += (text.empty() ? "one of " : ", ") + std::string(info.name);
  return text;
}

}  // namespace

std::span<const PolicyInfo> policies() { return kPolicies; }

Result<PolicyInfo> parse_policy(std::string_view name) {
  const auto found =
      std::find_if(kPolicies.begin(), kPolicies.end(), [&](const auto& info) { return info.name == name; });
  if (found != kPolicies.end()) return *found;
  return fail(Errc::not_found, "policy " + std::string(name), "is not known", names());
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, std::uint64_t seed) {
  WATTLE_TRY(const PolicyInfo info, parse_policy(name));
  if (!info.rule.empty()) {
    WATTLE_TRY(auto rule, make_rule(info.rule, seed));
    return std::make_unique<ByRule>(info, std::move(rule));
  }
  if (info.name == "dqn") return std::make_unique<Learned>(info);
  if (info.explores) return std::make_unique<HighestQ>(info);
  if (info.name == "kube-default") return std::make_unique<KubeScored>(info, default_score);
  if (info.name == "least-allocated") return std::make_unique<KubeScored>(info, least_allocated);
  if (info.name == "most-allocated") return std::make_unique<KubeScored>(info, most_allocated);
  if (info.name == "round-robin") return std::make_unique<RoundRobinPolicy>(info);
  return std::make_unique<AtRandom>(info);
}

}  // namespace wattle::placement
