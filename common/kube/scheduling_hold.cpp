#include "common/kube/scheduling_hold.hpp"

#include "common/kube/json.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

constexpr std::chrono::minutes kPermit{5};
constexpr std::chrono::minutes kPreBind{10};

// Group keys of the scheduler-plugins' coscheduling (both of its names), Kueue, Volcano, Koordinator, YuniKorn and KAI.
constexpr const char* kGroupKeys[] = {"scheduling.x-k8s.io/pod-group",
                                      "pod-group.scheduling.sigs.k8s.io",
                                      "pod-group.scheduling.sigs.k8s.io/name",
                                      "kueue.x-k8s.io/pod-group-name",
                                      "scheduling.k8s.io/group-name",
                                      "volcano.sh/job-name",
                                      "gang.scheduling.koordinator.sh/name",
                                      "yunikorn.apache.org/task-group-name",
                                      "pod-group-name"};

bool prepares_volume(const json& spec) {
  const json& volumes = member(spec, "volumes");
  if (!volumes.is_array()) return false;
  for (const json& volume : volumes)
    if (!member(volume, "persistentVolumeClaim").is_null() || !member(volume, "ephemeral").is_null()) return true;
  return false;
}

bool prepares_device(const json& spec) {
  const json& claims = member(spec, "resourceClaims");
  return claims.is_array() && !claims.empty();
}

bool in_gang(const json& pod, const json& spec) {
  if (!member(spec, "schedulingGroup").is_null() || !member(spec, "workloadRef").is_null()) return true;
  const json& metadata = member(pod, "metadata");
  for (const char* key : kGroupKeys)
    if (!text_of(member(metadata, "labels"), key).empty() || !text_of(member(metadata, "annotations"), key).empty())
      return true;
  return false;
}

}  // namespace

std::chrono::seconds scheduling_hold(const json& pod) {
  const json& spec = member(pod, "spec");
  if (prepares_volume(spec) || prepares_device(spec)) return kPreBind;
  return in_gang(pod, spec) ? kPermit : std::chrono::seconds(0);
}

}  // namespace wattle::kube
