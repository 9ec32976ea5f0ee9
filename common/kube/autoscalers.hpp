// autoscalers: finds the HorizontalPodAutoscaler or KEDA ScaledObject that scales a workload.
// Source   lists of horizontalpodautoscalers (autoscaling/v2) and scaledobjects (keda.sh/v1alpha1), in pages; read
//          only. Without KEDA there are no ScaledObjects (404)
// Gives    for a workload, named as in `wattle provision`, the autoscaler that owns its replicas, and the one that
//          scales it by utilisation, which is usage over the request. An autoscaler whose target kind does not identify
//          pods (an Argo Rollout, for example) counts for its whole namespace
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

// Autoscalers by target, as in "HorizontalPodAutoscaler shop/web".
struct ScaledWorkloads {
  std::map<std::string, std::string> workloads;   // named as in `wattle provision`
  std::map<std::string, std::string> namespaces;  // counted as a whole

  std::string of(const std::string& workload) const;  // empty: none
};

struct AutoscalerLists {
  ScaledWorkloads all;
  ScaledWorkloads by_utilisation;  // names the resources: "HorizontalPodAutoscaler shop/web (CPU utilisation)"
  std::size_t autoscalers = 0;

  std::string of(const std::string& workload) const { return all.of(workload); }
};

// Adds one page of a list to `out`. Returns the token of the next page, empty at the end. Errors: malformed.
Result<std::string> read_autoscalers(std::string_view body, AutoscalerKind kind, AutoscalerLists& out);

// Reads both lists, for one namespace or all (empty). `grant` describes how to get the right to list them.
Result<AutoscalerLists> list_autoscalers(Api& api, const std::string& name_space, const std::string& grant);

}  // namespace wattle::kube
