// heuristics: policies without a model: kube-scheduler's own scores, and round robin.
#include "placement/decide/policies/kube_scoring.hpp"
#include "placement/decide/policies/makers.hpp"

namespace wattle::placement {

namespace {

class KubeScored final : public Policy {
 public:
  KubeScored(const PolicyInfo& info, KubeScore made) : Policy(info), score_(made) {}
  void score(PolicyContext& context, std::span<double> values) override {
    const KubePod pod = context.kube_pod();
    for (const std::size_t row : context.feasible())
      values[row] = static_cast<double>(score_(context.kube_node(row), pod));
  }

 private:
  KubeScore score_;
};

class RoundRobin final : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    const auto feasible = context.feasible();
    values[feasible[context.turn % feasible.size()]] = 1;
  }
};

}  // namespace

MadePolicy make_kube_scored_by(const PolicyInfo& info, KubeScore score) {
  return std::make_unique<KubeScored>(info, score);
}
MadePolicy make_round_robin(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<RoundRobin>(info);
}

}  // namespace wattle::placement
