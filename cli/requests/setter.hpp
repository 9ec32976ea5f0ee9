// setter: one pass over a namespace's pods: writes the controller's advice through pods/resize, or restores the earlier
// requests.
// Orders   with --follow, a workload that has `sizing` in the document follows its order (raise, hold, lower, restore)
//          instead of the rule (controller/provision/sizing_ladder)
// Source   the controller's document `provision?namespace=NS`; pods, autoscalers (VerticalPodAutoscalers,
//          HorizontalPodAutoscalers, KEDA's ScaledObjects) and ConfigMap wattle-requests of that namespace
// Promise  a pod's earlier requests are in the ConfigMap before the first write to the pod, and the new values before
//          each write. A write applies only to the examined version of the pod. No record is lost if the process is
//          killed
// Rights   in that namespace: list pods; patch pods/resize; get and update the ConfigMap (and create it, unless the
//          chart does); list verticalpodautoscalers, horizontalpodautoscalers and scaledobjects
// Errors   those of the API server, naming verb and path; conflict: another client wrote the ConfigMap in the meantime,
//          and no pod was changed
// Threads  single owner
#pragma once

#include <string>
#include <vector>

#include "cli/cluster.hpp"
#include "cli/requests/plan.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

// Result, or dry-run result, for one pod.
struct PodDone {
  std::string pod, workload, state, why, before, after;  // the last two as Sizes::text()
};

struct SetOptions {
  std::string workload;  // whole, or its end; empty: all
  bool by_hand = true;   // also sets workloads that `restore` has restored
  bool dry_run = false;  // writes nothing
  std::int64_t now_s = 0;
};

// `document`: the controller's, for this namespace.
Result<std::vector<PodDone>> set_requests(Cluster& cluster, const std::string& name_space, const OrderedJson& document,
                                          const SetOptions& options);
// Restores earlier requests, and excludes the workload from later passes except by hand. A state is "restored", "kept"
// (no change) or "refused".
Result<std::vector<PodDone>> restore_requests(Cluster& cluster, const std::string& name_space,
                                              const std::string& workload);
// Returns an empty list if the kind VerticalPodAutoscaler does not exist. Without the right to list them the answer is
// unknown, which is an error.
Result<OrderedJson> vertical_autoscalers(Cluster& cluster, const std::string& name_space);
// How to get the right to list other autoscalers.
inline constexpr const char* kGrantAutoscalers =
    "grant its account the verb list on horizontalpodautoscalers (group autoscaling) and scaledobjects (group keda.sh)";
// Returns the restored, held and refused workloads of the pass, in the form that the controller accepts.
OrderedJson report_of(const std::string& name_space, const OrderedJson& document, const std::vector<PodDone>& done);
// Describes the records about a workload in sentences; empty if there are none.
Result<std::vector<std::string>> recorded_words(Cluster& cluster, const std::string& name_space,
                                                const std::string& workload);

}  // namespace wattle::cli
