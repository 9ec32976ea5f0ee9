#include "controller/power/mark_patch.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/parse.hpp"
#include "controller/power/rfc3339.hpp"

namespace wattle::controller::power {
namespace {

using json = SortedJson;
namespace core = placement::sleep;

constexpr std::string_view kNoSchedule = "NoSchedule", kLabelValue = "true";

std::string text_of(const json& value) { return value.is_string() ? value.string() : std::string(); }

// The marks of a Node that Wattle reads and changes.
struct Marked {
  std::string version = {};
  bool cordoned = false, own_cordon = false;
  const json& labels;
  const json& annotations;
  bool own_label = false;
  std::vector<json> taints = {};  // without Wattle's
  bool tainted = false;

  bool labelled() const { return labels.contains(kExcludeLabel); }
};

bool is_own_taint(const json& taint) {
  return text_of(taint["key"]) == kSleepTaint && text_of(taint["effect"]) == kNoSchedule;
}

bool is_cordon_taint(const json& taint) {
  return text_of(taint["key"]) == kCordonTaint && text_of(taint["effect"]) == kNoSchedule;
}

bool is_autoscaler_taint(const json& taint) { return text_of(taint["key"]) == kAutoscalerTaint; }

bool lists(std::string_view marks, std::string_view name) {
  return std::ranges::count(parse::split(marks, ','), name) > 0;
}

Result<Marked> read_marked(const json& node) {
  const json& metadata = node["metadata"];
  Marked out{.labels = metadata["labels"], .annotations = metadata["annotations"]};
  out.version = text_of(metadata["resourceVersion"]);
  if (out.version.empty())
    return fail(Errc::malformed, "Node", "has no metadata.resourceVersion",
                "check that kubernetes.server names an API server");
  const std::string marks = text_of(out.annotations[kMarksAnnotation]);
  out.own_cordon = lists(marks, "cordon");
  out.own_label = lists(marks, "label");
  const json& cordoned = node["spec"]["unschedulable"];
  out.cordoned = cordoned.is_boolean() && cordoned.get<bool>();
  const json& taints = node["spec"]["taints"];
  if (!taints.is_array()) return out;
  for (const json& taint : taints) {
    if (is_own_taint(taint))
      out.tainted = true;
    else
      out.taints.push_back(taint);
  }
  return out;
}

json precondition(const Marked& marked) {
  json patch = json::object();
  patch["metadata"]["resourceVersion"] = marked.version;
  return patch;
}

json annotations_of(const core::NodePowerRecord& record) {
  json out = json::object();
  if (core::takes_pods(record) && record.state == core::PowerState::awake) {
    for (const std::string_view key : {kStateAnnotation, kOperationAnnotation, kSinceAnnotation}) out[key] = nullptr;
    return out;
  }
  out[kStateAnnotation] = std::string(to_string(record.state));
  out[kOperationAnnotation] = std::to_string(record.operation);
  out[kSinceAnnotation] = rfc3339_text(record.since);
  return out;
}

// Sets the list of taints. An empty one is removed.
void set_taints(json& patch, std::vector<json> taints) {
  patch["spec"]["taints"] = taints.empty() ? json() : json(taints);
}

}  // namespace

Result<std::optional<json>> patch_to_mark(const json& node, const core::NodePowerRecord& record) {
  WATTLE_TRY(Marked marked, read_marked(node));
  json patch = precondition(marked);
  bool changed = false;
  const bool add_cordon = !marked.cordoned, add_label = !marked.labelled();
  if (add_cordon) patch["spec"]["unschedulable"] = true;
  if (add_label) patch["metadata"]["labels"][kExcludeLabel] = std::string(kLabelValue);
  if (!marked.tainted) {
    json taint = json::object();
    taint["key"] = std::string(kSleepTaint);
    taint["effect"] = std::string(kNoSchedule);
    marked.taints.push_back(std::move(taint));
    set_taints(patch, std::move(marked.taints));
    changed = true;
  }
  std::string own;
  if (add_cordon || marked.own_cordon) own = "cordon";
  if (add_label || marked.own_label) own += own.empty() ? "label" : ",label";
  json wanted = annotations_of(record);
  wanted[kMarksAnnotation] = own;
  for (const auto& [key, value] : wanted.items()) {
    const json* present = marked.annotations.member(key);
    if (value.is_null() ? present == nullptr : present != nullptr && *present == value) continue;
    patch["metadata"]["annotations"][key] = value;
    changed = true;
  }
  if (!changed && !add_cordon && !add_label) return std::optional<json>();
  return std::optional<json>(std::move(patch));
}

Result<std::optional<json>> patch_to_unmark(const json& node) {
  WATTLE_TRY(Marked marked, read_marked(node));
  json patch = precondition(marked);
  bool changed = false;
  const std::size_t others = marked.taints.size();
  // Another program that drains the node relies on the cordon: it becomes that program's.
  if (marked.own_cordon && marked.cordoned && kube::read_drainer(node).holds.empty()) {
    patch["spec"]["unschedulable"] = nullptr;
    std::erase_if(marked.taints, is_cordon_taint);
    changed = true;
  }
  if (marked.own_label && text_of(marked.labels[kExcludeLabel]) == kLabelValue) {
    patch["metadata"]["labels"][kExcludeLabel] = nullptr;
    changed = true;
  }
  if (marked.tainted) std::erase_if(marked.taints, is_autoscaler_taint);
  if (marked.tainted || marked.taints.size() != others) {
    set_taints(patch, std::move(marked.taints));
    changed = true;
  }
  for (const std::string_view key : {kMarksAnnotation, kStateAnnotation, kOperationAnnotation, kSinceAnnotation}) {
    if (!marked.annotations.contains(key)) continue;
    patch["metadata"]["annotations"][key] = nullptr;
    changed = true;
  }
  if (!changed) return std::optional<json>();
  return std::optional<json>(std::move(patch));
}

json patch_to_annotate(const core::NodePowerRecord& record) {
  json patch = json::object();
  patch["metadata"]["annotations"] = annotations_of(record);
  return patch;
}

}  // namespace wattle::controller::power
