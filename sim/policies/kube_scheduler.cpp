#include "sim/policies/kube_scheduler.hpp"

#include "placement/decide/policies/registry.hpp"

namespace wattle::sim {

KubeScheduler::KubeScheduler(std::uint64_t seed)
    : Policy(placement::parse_policy("kube-default").value()), random_(mix(seed, 0x6b756265ULL)) {}

void KubeScheduler::score(placement::PolicyContext& context, std::span<double> values) {
  for (const std::size_t row : context.feasible())
    values[row] = static_cast<double>(default_score(context.kube_node(row), context.kube_pod()));
}

std::optional<std::size_t> KubeScheduler::choose(placement::PolicyContext& context) {
  nodes_.clear();
  for (std::size_t row = 0; row < context.rows(); ++row) nodes_.push_back(context.kube_node(row));
  return select_node(nodes_, context.kube_pod(), {}, 0, random_);
}

}  // namespace wattle::sim
