// empty_node: prefers a node without pods, otherwise the least allocated. It spreads, so that each application has its
// own node while there are enough.
#include "lab/policies/makers.hpp"
#include "placement/decide/policies/kube_scoring.hpp"

namespace wattle::placement {

namespace {

class EmptyNode final : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    constexpr double kEmpty = 2 * static_cast<double>(kMaxNodeScore);  // above the score of any node with pods
    for (const std::size_t row : context.feasible()) {
      const KubeNode node = context.kube_node(row);
      values[row] = static_cast<double>(least_allocated(node, context.kube_pod())) + (node.pods == 0 ? kEmpty : 0);
    }
  }
};

}  // namespace

MadePolicy make_empty_node(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<EmptyNode>(info); }

}  // namespace wattle::placement
