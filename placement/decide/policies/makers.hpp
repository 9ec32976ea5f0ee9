// makers: factory functions of the policies, for the registry and the files that define them.
// Errors   none
// Threads  any
#pragma once

#include <memory>

#include "placement/decide/policies/policy.hpp"

namespace wattle::placement {

using MadePolicy = std::unique_ptr<Policy>;

MadePolicy make_network_policy(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_highest_q(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_planner_policy(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_node_order(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_node_order_costs(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_amortised(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_kube_default(const PolicyInfo& info, const NetworkOptions& options);

}  // namespace wattle::placement
