// alarms: the problems that an operator should know of first, worst first. Page, command line and demo show them.
// Source   budgets, shims, nodes, power states, network trials and the store, at the time of the call
// Format   docs/reference/api.md, status
// Errors   none
// Threads  the owner of the parts
#pragma once

#include <string>
#include <vector>

#include "common/json/value.hpp"
#include "controller/parts.hpp"
#include "controller/web/series.hpp"

namespace wattle::controller {

struct Alarm {
  std::string what;             // "store", "cpu_wait", "late", "right-size", "sleep", "shim", "nodes" or "network"
  std::string text;             // one line
  std::string view;             // of the page, with details
  std::string command() const;  // prints the details
};

// Returns the current alarms; an empty list means that there is no problem.
std::vector<Alarm> alarms(const Parts& from, const FleetSums& sums);
SortedJson alarms_json(const Parts& from, const FleetSums& sums);

}  // namespace wattle::controller
