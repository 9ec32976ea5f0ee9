// autoscalers: HorizontalPodAutoscalers and KEDA's ScaledObjects of an API server, by the workload that they scale.
// Source   list of horizontalpodautoscalers (autoscaling/v2) and scaledobjects (keda.sh/v1alpha1), in pages; nothing is written. Without KEDA
//          there are no ScaledObjects (404)
// Gives    for a workload, as `wattle provision` names it, the autoscaler that owns its replicas, and the one that scales it by utilisation,
//          which is use over the request. One that scales a kind whose pods cannot be told (an Argo Rollout, for one) counts for all of
//          its namespace
// Bounds   kMostAutoscalers; more are an error
// Errors   denied, unavailable, timeout, malformed, out_of_range
// Threads  pure
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "common/kube/reflector.hpp"

namespace wattle::kube {

inline constexpr std::size_t kMostAutoscalers = 20'000;

enum class AutoscalerKind { horizontal, keda };

// Autoscalers by what they scale, as in "HorizontalPodAutoscaler shop/web".
struct ScaledWorkloads {
  std::map<std::string, std::string> workloads;   // as `wattle provision` names them
  std::map<std::string, std::string> namespaces;  // that count as a whole

  std::string of(const std::string& workload) const;  // empty: none
};

struct AutoscalerLists {
  ScaledWorkloads all;
  ScaledWorkloads by_utilisation;  // with the resources: "HorizontalPodAutoscaler shop/web (CPU utilisation)"
  std::size_t autoscalers = 0;

  std::string of(const std::string& workload) const { return all.of(workload); }
};

// One page of a list, into `out`; gives what the next one goes on from, empty at the end. Errors: malformed.
Result<std::string> read_autoscalers(std::string_view body, AutoscalerKind kind, AutoscalerLists& out);

// All of both lists, of one namespace or of all (empty). `grant`: how a caller gets the right to list them.
Result<AutoscalerLists> list_autoscalers(Api& api, const std::string& name_space, const std::string& grant);

}  // namespace wattle::kube
