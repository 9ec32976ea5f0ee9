#include "common/kube/pod_hold.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "common/kube/json.hpp"
#include "common/parse.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

constexpr const char* kSafe = "cluster-autoscaler.kubernetes.io/safe-to-evict";
constexpr const char* kSafeVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
constexpr const char* kKeep = "karpenter.sh/do-not-disrupt";
// Volumes of one node, claims, and disks of a cloud, which attach in one zone and to one node at a time.
constexpr const char* kVolumesOfPlace[] = {"hostPath",  "persistentVolumeClaim", "ephemeral",
                                           "azureDisk", "awsElasticBlockStore",  "gcePersistentDisk",
                                           "cinder",    "vsphereVolume"};

bool has_controller(const json& metadata) {
  const json& owners = member(metadata, "ownerReferences");
  if (!owners.is_array()) return false;
  for (const json& owner : owners)
    if (member(owner, "controller") == true) return true;
  return false;
}

// True if `name` is one of the names in a list with commas.
bool lists(std::string_view names, std::string_view name) {
  return std::ranges::count(parse::split(names, ','), name) > 0;
}

bool has_local_volume(const json& spec, const std::string& exempt) {
  const json& volumes = member(spec, "volumes");
  if (!volumes.is_array()) return false;
  for (const json& volume : volumes) {
    if (lists(exempt, text_of(volume, "name"))) continue;
    const json& scratch = member(volume, "emptyDir");
    if (scratch.is_object() && text_of(scratch, "medium") != "Memory") return true;
    for (const char* kind : kVolumesOfPlace)
      if (!member(volume, kind).is_null()) return true;
  }
  return false;
}

bool has_entries(const json& list) { return list.is_array() && !list.empty(); }

// Every node has these, and Wattle counts CPU and memory.
bool is_plain(const std::string& resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage";
}

bool wants_place(const json& container) {
  for (const json& port : member(container, "ports"))
    if (member(port, "hostPort").is_number() && member(port, "hostPort") != 0) return true;
  for (const char* kind : {"requests", "limits"}) {
    const json& resources = member(member(container, "resources"), kind);
    if (!resources.is_object()) continue;
    for (const auto& [resource, amount] : resources.items())
      if (!is_plain(resource) && amount != "0" && amount != 0) return true;
  }
  return false;
}

bool is_constrained(const json& spec) {
  if (has_entries(member(spec, "resourceClaims"))) return true;
  for (const char* kind : {"podAffinity", "podAntiAffinity"})
    if (has_entries(member(member(member(spec, "affinity"), kind), "requiredDuringSchedulingIgnoredDuringExecution")))
      return true;
  for (const json& spread : member(spec, "topologySpreadConstraints"))
    if (text_of(spread, "whenUnsatisfiable") != "ScheduleAnyway") return true;
  for (const char* kind : {"containers", "initContainers"})
    for (const json& container : member(spec, kind))
      if (wants_place(container)) return true;
  return false;
}

}  // namespace

PodHold read_pod_hold(const json& pod) {
  const json& metadata = member(pod, "metadata");
  const json& annotations = member(metadata, "annotations");
  const std::string safe = text_of(annotations, kSafe);
  if (safe == "true") return PodHold::none;
  if (safe == "false" || text_of(annotations, kKeep) == "true") return PodHold::undisruptable;
  if (!has_controller(metadata)) return PodHold::bare;
  const json& spec = member(pod, "spec");
  if (has_local_volume(spec, text_of(annotations, kSafeVolumes))) return PodHold::local_volume;
  return is_constrained(spec) ? PodHold::constrained : PodHold::none;
}

}  // namespace wattle::kube
