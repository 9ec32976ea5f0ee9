// render: formats samples for `wattle-agent sample` and `doctor`. docs/reference/agent.md lists the columns.
// Gives    one JSON object per line, or CSV with one row for the node and one for each domain, socket, workload and
//          probe; values without a reading are omitted, or an empty cell
// Units    in every key; "raw" holds the kernel's cumulative counters
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "agent/sampler.hpp"

namespace wattle::agent {

// Selects one pod, or the workloads of one name.
struct WorkloadFilter {
  std::string pod, name;
  bool any() const { return !pod.empty() || !name.empty(); }
  bool takes(const WorkloadValues& workload) const {
    if (!pod.empty()) return workload.kind == WorkloadKind::pod && workload.name == pod;
    return name.empty() || workload.name == name;
  }
  std::string text() const { return pod.empty() ? "workload " + name : "pod " + pod; }
};

std::string sample_json(const std::string& node, const Sample& sample, const WorkloadFilter& filter = {});
// New columns are added at the end.
std::string csv_header();
std::string sample_csv(const std::string& node, const Sample& sample, const WorkloadFilter& filter = {});

std::string doctor_json(const std::string& node, const std::vector<Finding>& findings);
std::string doctor_text(const std::vector<Finding>& findings);

}  // namespace wattle::agent
