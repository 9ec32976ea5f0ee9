#include "common/kube/preferences.hpp"

#include <algorithm>

#include "common/kube/json.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

constexpr std::size_t kMaxTolerations = 64;
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

bool has_items(const json& list) { return list.is_array() && !list.empty(); }

bool is_spread_by_default(const json& pod) {
  const json& metadata = member(pod, "metadata");
  const json& labels = member(metadata, "labels");
  if (!labels.is_object() || labels.empty()) return false;
  const json& owners = member(metadata, "ownerReferences");
  if (!owners.is_array()) return true;
  const bool in_service = !text_of(member(pod, "spec"), "subdomain").empty();
  return std::none_of(owners.begin(), owners.end(), [in_service](const json& owner) {
    const std::string kind = text_of(owner, "kind");
    return (kind == "Job" && !in_service) || kind == "DaemonSet" || kind == "Node";
  });
}

}  // namespace

std::vector<std::string> soft_preferences(const json& pod) {
  std::vector<std::string> out;
  const json& spec = member(pod, "spec");
  const json& affinity = member(spec, "affinity");
  if (has_items(member(member(affinity, "nodeAffinity"), kPreferred))) out.emplace_back("node affinity");
  if (has_items(member(member(affinity, "podAffinity"), kPreferred))) out.emplace_back("pod affinity");
  if (has_items(member(member(affinity, "podAntiAffinity"), kPreferred))) out.emplace_back("pod anti-affinity");
  const json& constraints = member(spec, "topologySpreadConstraints");
  if (has_items(constraints)) {
    const bool soft = std::any_of(constraints.begin(), constraints.end(), [](const json& one) {
      return text_of(one, "whenUnsatisfiable") == "ScheduleAnyway";
    });
    if (soft) out.emplace_back("topology spread");
  } else if (is_spread_by_default(pod)) {
    out.emplace_back("default topology spread");
  }
  return out;
}

std::vector<std::string> soft_tolerations(const json& pod) {
  std::vector<std::string> out;
  const json& tolerations = member(member(pod, "spec"), "tolerations");
  if (!tolerations.is_array()) return out;
  for (const json& one : tolerations) {
    const std::string effect = text_of(one, "effect"), key = shortened(text_of(one, "key"), kMaxNameBytes);
    if ((!effect.empty() && effect != "PreferNoSchedule") || out.size() == kMaxTolerations) continue;
    const std::string op = text_of(one, "operator");
    if (op == "Exists")
      out.push_back(key.empty() ? "*" : key);
    else if (!key.empty() && (op.empty() || op == "Equal"))
      out.push_back(key + "=" + shortened(text_of(one, "value"), kMaxNameBytes));
  }
  return out;
}

}  // namespace wattle::kube
