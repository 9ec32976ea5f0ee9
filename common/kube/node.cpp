#include "common/kube/node.hpp"

#include <algorithm>
#include <optional>

#include "common/kube/json.hpp"
#include "common/parse.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

constexpr std::size_t kMaxTaints = 64;
constexpr double kMaxPods = 1e6;

std::optional<double> quantity_of(const json& allocatable, const char* resource, Node& node) {
  const json& value = member(allocatable, resource);
  std::optional<double> amount;
  if (value.is_string()) amount = parse::quantity(value.string());
  if (value.is_number() && value.get<double>() >= 0) amount = value.get<double>();
  if (!amount)
    node.problems.push_back(std::string("status.allocatable.") + resource + " is " +
                            (value.is_null() ? "missing" : "not a quantity") + "; ignored");
  return amount;
}

void read_soft_taints(const json& taints, Node& node) {
  if (!taints.is_array()) return;
  for (const json& taint : taints) {
    if (text_of(taint, "effect") != "PreferNoSchedule" || node.soft_taints.size() == kMaxTaints) continue;
    node.soft_taints.push_back(shortened(text_of(taint, "key"), kMaxNameBytes) + "=" +
                               shortened(text_of(taint, "value"), kMaxNameBytes));
  }
  std::sort(node.soft_taints.begin(), node.soft_taints.end());
}

}  // namespace

std::string Node::zone() const {
  const auto found = labels.find(std::string(kZoneLabel));
  return found == labels.end() ? std::string() : found->second;
}

Node read_node(const json& object) {
  Node node;
  const json& metadata = member(object, "metadata");
  const json& status = member(object, "status");
  node.uid = shortened(text_of(metadata, "uid"), kMaxNameBytes);
  node.name = shortened(text_of(metadata, "name"), kMaxNameBytes);
  const json& labels = member(metadata, "labels");
  if (labels.is_object())
    for (const auto& [key, value] : labels.items())
      if (value.is_string()) node.labels.emplace(key, shortened(value.get<std::string>(), kMaxNameBytes));
  const json& allocatable = member(status, "allocatable");
  node.cpu_cores = quantity_of(allocatable, "cpu", node).value_or(0);
  node.memory_bytes = quantity_of(allocatable, "memory", node).value_or(0);
  if (const auto pods = quantity_of(allocatable, "pods", node))
    node.pod_capacity = static_cast<std::uint64_t>(std::min(*pods, kMaxPods));
  const json& conditions = member(status, "conditions");
  if (conditions.is_array())
    for (const json& condition : conditions)
      if (text_of(condition, "type") == "Ready") node.ready = text_of(condition, "status") == "True";
  const json& spec = member(object, "spec");
  node.cordoned = member(spec, "unschedulable") == true;
  node.drainer = read_drainer(object);
  read_soft_taints(member(spec, "taints"), node);
  const json& info = member(status, "nodeInfo");
  node.kernel = shortened(text_of(info, "kernelVersion"), kMaxNameBytes);
  node.kubelet = shortened(text_of(info, "kubeletVersion"), kMaxNameBytes);
  return node;
}

}  // namespace wattle::kube
