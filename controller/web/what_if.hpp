// what_if: one decision asked again, as the cluster is now: as it was asked for, and with other rewards, another size or without some nodes.
// Both answers are of the same moment, so that what differs between them is what was asked for and nothing else.
// Rules    nothing is recorded, expected or learned; a pod that runs is thought away from where it does. The candidates are the decision's
// Bounds   two decisions, asks that wait are answered between them; `limit` candidates of each are told
// Errors   malformed and out_of_range (argument), not_found (decision, node, what the pod asked for)
// Threads  the owner of the sources
#pragma once

#include <map>
#include <string>

#include "common/result.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

// Arguments: pod; any of cpu and memory (Kubernetes quantities), without (names between commas) and the rewards' of policy-set; limit.
Result<std::string> what_if_text(const Sources& from, Decider& decider,
                                 const std::map<std::string, std::string>& arguments);

}  // namespace wattle::controller
