// plan: decides how to change one pod's requests. Pure.
// Source   the pod as its API server describes it, the controller's advice for its workload, the record of the pod
// Rules    never below the original unless the pod permits it. Raises at once; lowers after the pod has run for
//          `hold_s`. Stays within the limits, which change together with the requests if the QoS class is Guaranteed.
//          No change that would restart a container. A request that the node can never satisfy is taken back. No change
//          to requests that an autoscaler sets, or scales by utilisation. A value that another client wrote becomes the
//          new original, and stays for `hold_s`
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

// Advice for all of a pod's containers together, before any lower bound; no value if unknown so far.
struct Advice {
  std::string workload;  // "shop/Deployment/web"
  std::optional<double> cpu_cores, memory_bytes;
};

// Which changes are wanted.
enum class Direction : std::uint8_t { both, up, down };

struct PlanOptions {
  Direction direction = Direction::both;
  std::int64_t now_s = 0, hold_s = 1800;
  std::string autoscaler;  // name of the VerticalPodAutoscaler that acts on the workload; empty: none
  // autoscaler that scales the workload by utilisation, named as in kube::AutoscalerLists; empty: none
  std::string scaler;
};

struct Verdict {
  // "write", "take_back", "in_force", "keep", "waits", "in_progress", "failing", "deferred", "infeasible", "refused"
  std::string state;
  std::string why;  // a sentence; may be empty
  std::string container;
  std::optional<Sizes> now;  // of that container; no value if it was not examined
  Sizes set;                 // for write and take_back
  bool foreign = false;      // another client wrote the current values
};

// `before` null: we never wrote to the pod.
Verdict plan_pod(const OrderedJson& pod, const Advice& advice, const PodRecord* before, const PlanOptions& options);

// Returns whether the kubelet reports that the container has the requested resources; a kubelet that does not report
// counts as done.
bool is_in_force(const OrderedJson& pod, const std::string& container);

// Values that restore the pod's earlier requests; without a value nothing is written, for the reason `why`.
struct Restoration {
  std::optional<Sizes> set;
  std::string why;
};
Restoration plan_restore(const OrderedJson& pod, const PodRecord& before);

// Returns the VerticalPodAutoscaler of a list that targets the workload and is not in mode Off; empty if there is none.
std::string autoscaler_of(const OrderedJson& list, std::string_view owner);

// Returns a strategic merge patch for pods/NAME/resize that applies only to this version of the pod.
OrderedJson resize_patch(const OrderedJson& pod, const std::string& container, const Sizes& set);

}  // namespace wattle::cli
