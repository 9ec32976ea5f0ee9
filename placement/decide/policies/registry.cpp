#include "placement/decide/policies/registry.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "common/nearest.hpp"
#include "placement/decide/policies/makers.hpp"

namespace wattle::placement {

namespace {

constexpr std::array<PolicyInfo, 8> kPolicies{{
    {"dqn", "highest Q: predicted reward and learned residual", make_network_policy, true, true},
    {"model-greedy", "highest predicted reward", make_highest_q, false, true},
    {"tabular-q", "highest Q of the table", make_highest_q, true, true},
    {"planner", "the plan's next place for a pod of this demand", make_planner_policy},
    {"node-order", "first in the order of watts at half load per place", make_node_order},
    {"node-order-costs", "least watts at half load per place, with lateness, waiting and pairs", make_node_order_costs},
    {"amortised", "least amortised watts", make_amortised},
    {"kube-default", "the default scheduler's own score", make_kube_default},
}};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const PolicyInfo& info : kPolicies) all.emplace_back(info.name);
  return all;
}

}  // namespace

std::span<const PolicyInfo> policies() { return kPolicies; }
Result<PolicyInfo> parse_policy(std::string_view name) {
  const auto found =
      std::find_if(kPolicies.begin(), kPolicies.end(), [&](const auto& info) { return info.name == name; });
  if (found != kPolicies.end()) return *found;
  return fail(Errc::not_found, "policy " + std::string(name), "unknown",
              did_you_mean(name, names(), "use one of " + comma_list(names())));
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const NetworkOptions& options) {
  WATTLE_TRY(const PolicyInfo info, parse_policy(name));
  return info.make(info, options);
}

}  // namespace wattle::placement
