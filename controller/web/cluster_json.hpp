// cluster_json: nodes and workloads as the objects of docs/reference/api.md.
// Threads  pure functions
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "controller/web/sources.hpp"

namespace wattle::controller {

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}
// Not finite is unknown.
nlohmann::json number(double value);
nlohmann::json text_or_null(const std::string& text);

nlohmann::json node_json(const Sources& from, const std::string& name, const Node& node);
nlohmann::json node_details_json(const Sources& from, const std::string& name, const Node& node);
nlohmann::json workload_json(const Sources& from, const std::string& node, const std::string& uid,
                             const Workload& workload);
// With what its containers have of it.
nlohmann::json pod_details_json(const Sources& from, const std::string& node, const std::string& uid,
                                const Workload& workload);
nlohmann::json findings_json(const Node& node);

}  // namespace wattle::controller
