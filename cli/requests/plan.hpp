// plan: what is to be done about one pod's requests. Pure.
// Source   the pod as its API server has it, what the controller's rule says of its workload, what was recorded of the pod
// Rules    never below the original unless the pod allows it; up at once, down when it has run for `hold_s`; within its limits, which go
//          along where the QoS class is Guaranteed; what would restart a container is left; what the node can never give is taken back;
//          the requests of what an autoscaler sets, or scales by utilisation, are left alone;
//          what somebody else wrote is the new original, and is left alone for `hold_s`
// Units    cores, bytes, seconds since 1970
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/requests/record.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

// Of all of a pod's containers together, before anybody's floor; absent: not known yet.
struct Advice {
  std::string workload;  // "shop/Deployment/web"
  std::optional<double> cpu_cores, memory_bytes;
};

struct PlanOptions {
  std::int64_t now_s = 0, hold_s = 1800;
  std::string autoscaler;  // that targets the workload and acts: a VerticalPodAutoscaler's name; empty: none
  std::string scaler;      // that scales the workload by utilisation, as kube::AutoscalerLists names it; empty: none
};

struct Verdict {
  // "write", "take_back", "in_force", "keep", "waits", "in_progress", "failing", "deferred", "infeasible", "refused"
  std::string state;
  std::string why;  // a sentence; empty: nothing to say
  std::string container;
  std::optional<Sizes> now;  // of that container; absent: it was not looked at
  Sizes set;                 // to write and take_back
  bool foreign = false;      // somebody else wrote what is there
};

// `before`: absent where we never wrote.
Verdict plan_pod(const OrderedJson& pod, const Advice& advice, const PodRecord* before, const PlanOptions& options);

// Whether its kubelet tells that the container has what the pod asks for; one that does not tell is believed to have done it.
bool is_in_force(const OrderedJson& pod, const std::string& container);

// What is to be written so that the pod has again what it had; absent: nothing, for `why`.
struct Restoration {
  std::optional<Sizes> set;
  std::string why;
};
Restoration plan_restore(const OrderedJson& pod, const PodRecord& before);

// The VerticalPodAutoscaler of a list that targets the workload and is not in mode Off; empty: none.
std::string autoscaler_of(const OrderedJson& list, std::string_view owner);

// A strategic merge patch of pods/NAME/resize that holds for this version of the pod alone.
OrderedJson resize_patch(const OrderedJson& pod, const std::string& container, const Sizes& set);

}  // namespace wattle::cli
