// render: samples as text for `wattle-agent sample` and `doctor`.
// Gives    one JSON object a line, or CSV with one row for the node and one for each workload and probe
// Units    in every key; "raw" holds the kernel's cumulative counters
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "agent/doctor.hpp"
#include "agent/sampler.hpp"

namespace wattle::agent {

std::string sample_json(const std::string& node, const Sample& sample);
std::string csv_header();
std::string sample_csv(const std::string& node, const Sample& sample);

std::string doctor_json(const std::string& node, const std::vector<Finding>& findings);
std::string doctor_text(const std::vector<Finding>& findings);

}  // namespace wattle::agent
