// what_if: repeats one decision on the current cluster, as requested and with other rewards, another size or without
// some nodes. Both answers are computed for the same moment, so that only the requested change makes them differ.
// Rules    does not record, expect or learn anything; the load of a running pod is removed from its node. The
//          candidates are those of the decision
// Bounds   two decisions, with waiting asks answered in between; `limit` candidates of each are reported
// Errors   malformed and out_of_range (argument), not_found (decision, node, the pod's request)
// Threads  the owner of the parts
#pragma once

#include "controller/parts.hpp"
#include "controller/steps.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

// Arguments: pod; optionally cpu and memory (Kubernetes quantities), without (comma-separated names) and the reward
// arguments of policy-set; limit.
Document what_if_text(const Parts& from, const Arguments& arguments);

}  // namespace wattle::controller
