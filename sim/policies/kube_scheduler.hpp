// kube_scheduler: the default scheduler without an extender, as a policy on a fleet.
// Errors   none
// Threads  single owner
#pragma once

#include <cstdint>
#include <vector>

#include "placement/decide/policies/policy.hpp"
#include "sim/world/kube_scoring.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim {

class KubeScheduler final : public placement::Policy {
 public:
  explicit KubeScheduler(std::uint64_t seed);
  void score(placement::PolicyContext& context, std::span<double> values) override;
  std::optional<std::size_t> choose(placement::PolicyContext& context) override;

 private:
  std::vector<KubeNode> nodes_;
  Random random_;
};

}  // namespace wattle::sim
