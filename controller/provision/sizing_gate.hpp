// sizing_gate: the gates between the modes of right sizes, the alarms of owners, and reports of the client that sets
// requests.
// Errors   parse_report: malformed
// Threads  pure functions
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "controller/provision/sizing_ladder.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostSizingReason = 500;

// Returns why the mode may not be entered from the current one; empty: it may.
std::string closed_to(const ModeSetting& to, const ModeSetting& from, const std::map<std::string, SizedOwner>& owners,
                      double now_s, const placement::SizingOptions& options);

// `is_silent`: no client reports from the namespace.
std::vector<std::string> sizing_alarms(const std::map<std::string, SizedOwner>& owners,
                                       const std::function<bool(const std::string& name_space)>& is_silent,
                                       double now_s);

struct SetterReports {
  std::string name_space;
  std::map<std::string, SetterReport> workloads;  // of that namespace
};
// Format: {"namespace": ..., "workloads": {NAME: {"state", "why"}}}.
Result<SetterReports> parse_report(const std::string& body);

}  // namespace wattle::controller
