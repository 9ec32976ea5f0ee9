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
    for (const char* kind : {"hostPath", "persistentVolumeClaim", "ephemeral"})
      if (!member(volume, kind).is_null()) return true;
  }
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
  return has_local_volume(member(pod, "spec"), text_of(annotations, kSafeVolumes)) ? PodHold::local_volume
                                                                                   : PodHold::none;
}

}  // namespace wattle::kube
