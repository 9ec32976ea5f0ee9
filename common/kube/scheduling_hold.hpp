// scheduling_hold: time for which kube-scheduler may hold a pod between its choice of a node and the binding.
// Source   spec.{volumes,resourceClaims,schedulingGroup,workloadRef} and the labels and annotations that gang
//          schedulers read
// Rules    a pod whose volume or device is prepared for the chosen node waits in PreBind for up to 10 minutes
//          (bindTimeoutSeconds of the VolumeBinding and DynamicResources plugins); a member of a gang waits in Permit
//          for the others for up to 5 minutes
// Threads  pure
#pragma once

#include <chrono>

#include "common/json/value.hpp"

namespace wattle::kube {

// Returns zero if the scheduler binds the pod at once.
std::chrono::seconds scheduling_hold(const SortedJson& pod);

}  // namespace wattle::kube
