// doctor: lists the sources that this node provides, those that it does not, the reason, and the fix.
// To add   write `std::vector<Finding> examine_xxx(const AgentConfig&)` beside the source (its header includes
//          agent/finding.hpp, not doctor's) and one line for it in kExaminers of doctor.cpp. It opens the same files as
//          the agent, reads them once, closes them, and never throws. A `source` is one word that never changes.
//          The `why` of an ok finding names the result ("4 zones: package-0, dram-0"), of a lost one the file or call
//          that failed. `fix` is the fix for the operator, or empty. Names are unique: wire::Hello::features lists the
//          ok ones
// At start the sampler reports the sources that it opened to the controller. It runs the cheap examiners without state,
//          which have `at_start`, and appends the findings of sources that load programs or open sockets itself
//          (Sampler::open_)
// Threads  values; examine() from any
#pragma once

#include <vector>

#include "agent/collect/cgroup_mount.hpp"
#include "agent/config.hpp"
#include "agent/finding.hpp"

namespace wattle::agent {

// Opens and reads every source once, for `wattle-agent doctor`.
std::vector<Finding> examine(const AgentConfig& config);
// Returns the findings of those that a running agent does not open itself.
std::vector<Finding> examine_at_start(const AgentConfig& config);

// Clock and limits of the process; the files, folders and endpoint that a configuration names (doctor_setup.cpp).
std::vector<Finding> examine_machine(const AgentConfig& config);
std::vector<Finding> examine_setup(const AgentConfig& config);

// Names the values of workloads on cgroup v1, and those that are not available.
Finding v1_finding(const CgroupTop& top);

// Returns true if no required source is lost.
bool healthy(const std::vector<Finding>& findings);

}  // namespace wattle::agent
