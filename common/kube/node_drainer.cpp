#include "common/kube/node_drainer.hpp"

#include <algorithm>
#include <array>

#include "common/kube/json.hpp"
#include "common/parse.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

// Of version 1, and of the beta before it.
constexpr std::array<std::string_view, 2> kKarpenterTaints{"karpenter.sh/disrupted", "karpenter.sh/disruption"};
constexpr std::array<std::string_view, 3> kDrainConditions{"DrainInProgress", "Drained", "MaintenanceInProgress"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool is_own_cordon(const json& metadata) {
  const std::string marks = text_of(member(metadata, "annotations"), std::string(kMarksAnnotation).c_str());
  const auto parts = parse::split(marks, ',');
  return std::find(parts.begin(), parts.end(), "cordon") != parts.end();
}

// The condition that another program has set, with its reason: "DrainInProgress, set by Operator".
std::string condition_of_other(const json& conditions) {
  if (!conditions.is_array()) return {};
  for (const json& each : conditions) {
    const std::string type = text_of(each, "type"), reason = text_of(each, "reason");
    if (!among(kDrainConditions, type) || text_of(each, "status") != "True" || reason == kSleepReason) continue;
    return type + (reason.empty() ? std::string() : ", reason " + shortened(reason, kMaxNameBytes));
  }
  return {};
}

}  // namespace

NodeDrainer read_drainer(const json& node) {
  NodeDrainer found;
  const json& spec = member(node, "spec");
  if (const json& taints = member(spec, "taints"); taints.is_array())
    for (const json& taint : taints) {
      const std::string key = text_of(taint, "key");
      if (key == kAutoscalerTaint) found.empties = "Cluster Autoscaler empties it (taint " + key + ")";
      if (among(kKarpenterTaints, key)) found.holds = "Karpenter removes it (taint " + key + ")";
    }
  if (const std::string condition = condition_of_other(member(member(node, "status"), "conditions"));
      !condition.empty())
    found.holds = "another program drains or maintains it (condition " + condition + ")";
  if (found.holds.empty() && member(spec, "unschedulable") == true && !is_own_cordon(member(node, "metadata")))
    found.holds = "it is cordoned, not by Wattle";
  return found;
}

}  // namespace wattle::kube
