// heuristics: policies without a model: kube-scheduler's own scores, pod counts, round robin and random.
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

// The argmax heuristics of the latency scheduler's thesis.
class ByPods final : public Policy {
 public:
  ByPods(const PolicyInfo& info, double sign) : Policy(info), sign_(sign) {}
  void score(PolicyContext& context, std::span<double> values) override {
    for (const std::size_t row : context.feasible())
      values[row] = sign_ * static_cast<double>(context.kube_node(row).pods);
  }

 private:
  double sign_;
};

class RoundRobin final : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    const auto feasible = context.feasible();
    values[feasible[context.turn % feasible.size()]] = 1;
  }
};

// All values are equal: the draw among ties decides.
class AtRandom final : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext&, std::span<double>) override {}
};

}  // namespace

MadePolicy make_kube_scored_by(const PolicyInfo& info, KubeScore score) {
  return std::make_unique<KubeScored>(info, score);
}
MadePolicy make_by_pods_signed(const PolicyInfo& info, double sign) { return std::make_unique<ByPods>(info, sign); }
MadePolicy make_round_robin(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<RoundRobin>(info);
}
MadePolicy make_at_random(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<AtRandom>(info); }

}  // namespace wattle::placement
