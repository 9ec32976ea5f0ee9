// makers: factory functions of the policies, for the registry and the files that define them.
// Errors   none
// Threads  any
#pragma once

#include <cstdint>
#include <memory>

#include "placement/decide/policies/kube_scoring.hpp"
#include "placement/decide/policies/policy.hpp"

namespace wattle::placement {

using MadePolicy = std::unique_ptr<Policy>;

MadePolicy make_network_policy(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_highest_q(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_planner_policy(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_node_order(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_node_order_costs(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_amortised(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_greedy(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_round_robin(const PolicyInfo& info, const NetworkOptions& options);

using KubeScore = std::int64_t (*)(const KubeNode&, const KubePod&);
MadePolicy make_kube_scored_by(const PolicyInfo& info, KubeScore score);
template <KubeScore kScore>
MadePolicy make_kube_scored(const PolicyInfo& info, const NetworkOptions&) {
  return make_kube_scored_by(info, kScore);
}

}  // namespace wattle::placement
