// doctor: which sources this node gives, which it does not, why, and what would mend it.
// To add   write `std::vector<Finding> examine_xxx(const AgentConfig&)` beside the source (its header includes
//          agent/finding.hpp, nothing of doctor) and one line for it in kExaminers of doctor.cpp. It opens what the agent
//          would open, reads it once, closes it, and never throws. A `source` is one word that stays the same; `why` of an
//          ok names what was found ("4 zones: package-0, dram-0"), of a lost the file or call that failed; `mend` is what a
//          person would do, or empty. A name that others must not use: wire::Hello::features lists the ok ones.
// At start The sampler tells the controller what it has itself opened. An examiner that is cheap and keeps nothing has
//          `at_start`; one that loads programs or opens sockets has not: there the sampler appends the findings of what it
//          holds to its own (Sampler::open_).
// Threads  values; examine() from any
#pragma once

#include <vector>

#include "agent/config.hpp"
#include "agent/finding.hpp"

namespace wattle::agent {

// Everything, opened and read once: `wattle-agent doctor`.
std::vector<Finding> examine(const AgentConfig& config);
// Of which what a running agent does not open itself.
std::vector<Finding> examine_at_start(const AgentConfig& config);

// Clock and limits of the process; the files, folders and endpoint that a configuration names (doctor_setup.cpp).
std::vector<Finding> examine_machine(const AgentConfig& config);
std::vector<Finding> examine_setup(const AgentConfig& config);

// Nothing that the agent cannot do without is lost.
bool healthy(const std::vector<Finding>& findings);

}  // namespace wattle::agent
