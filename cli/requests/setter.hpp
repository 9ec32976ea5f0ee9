// setter: one look at a namespace's pods: what the controller's rule says is written through pods/resize, and what was there is put back.
// Source   the controller's document `provision?namespace=NS`; pods, autoscalers (VerticalPodAutoscalers, HorizontalPodAutoscalers, KEDA's
//          ScaledObjects) and ConfigMap wattle-requests of that namespace
// Promise  before a pod is written for the first time what it had is in the ConfigMap; before each write so is what is to be written.
//          A write holds for the version of the pod that was looked at. Killed at any time, nothing is lost
// Rights   in that namespace: list pods; patch pods/resize; get and update the ConfigMap (create it, or let the chart); list
//          verticalpodautoscalers, horizontalpodautoscalers and scaledobjects
// Errors   of the API server, naming verb and path; conflict: somebody else wrote the ConfigMap meanwhile, and nothing was set
// Threads  single owner
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/cluster.hpp"
#include "cli/requests/plan.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

// What was done, or would be, with one pod.
struct PodDone {
  std::string pod, workload, state, why, before, after;  // the last two as Sizes::text()
};

struct SetOptions {
  std::string workload;  // whole, or an end of it; empty: all
  bool by_hand = true;   // what `restore` put back may be set again
  bool dry_run = false;  // nothing is written
  std::int64_t now_s = 0;
};

// `document`: the controller's, of this namespace.
Result<std::vector<PodDone>> set_requests(Cluster& cluster, const std::string& name_space, const OrderedJson& document,
                                          const SetOptions& options);
// What was set is put back, and is not set again but by hand. A state is "restored", "kept" (nothing to do) or "refused".
Result<std::vector<PodDone>> restore_requests(Cluster& cluster, const std::string& name_space,
                                              const std::string& workload);
// What is on record of a workload, in sentences; none: nothing.
Result<std::vector<std::string>> recorded_words(Cluster& cluster, const std::string& name_space,
                                                const std::string& workload);

}  // namespace wattle::cli
