// cluster_json: converts nodes and workloads to the objects of docs/reference/api.md.
// Threads  pure functions
#pragma once

#include <string>

#include "common/json/value.hpp"
#include "controller/parts.hpp"
#include "controller/state/cluster_state.hpp"
#include "placement/cluster/pod_time.hpp"

namespace wattle::controller {

template <class T>
SortedJson or_null(const std::optional<T>& value) {
  return value ? SortedJson(*value) : SortedJson(nullptr);
}
// Returns null for a value that is not finite.
SortedJson number(double value);
SortedJson text_or_null(const std::string& text);

SortedJson node_json(const Parts& from, const std::string& name, const Node& node);
SortedJson node_details_json(const Parts& from, const std::string& name, const Node& node);
SortedJson workload_json(const Parts& from, const std::string& node, const std::string& uid, const Workload& workload);
// Includes the usage of its containers.
SortedJson pod_details_json(const Parts& from, const std::string& node, const std::string& uid,
                            const Workload& workload);
SortedJson findings_json(const Node& node);
// {"cpu_wait": {...}, "late": {...}}. A budget that is not in force has no limit.
SortedJson budgets_json(const placement::PodTime& pod_time);

}  // namespace wattle::controller
