// provision_json: builds the document `provision`: requests, needs and suggested requests of workloads, and the
// resources that they would free.
// Bounds   `limit` rows, those that would free or add most first; the totals include all
// Errors   malformed (argument), not_found (workload; provisioning.level is off)
// Threads  the owner of the parts
#pragma once

#include <string>

#include "common/result.hpp"
#include "controller/parts.hpp"
#include "controller/web/arguments.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

// `workload`: that workload, as NAMESPACE/KIND/NAME or an unambiguous end of it. `only`: "suggested": workloads whose
// suggestion differs from their request; "sized": those that permit lower requests; "replicas". `limit`.
Result<std::string> provision_text(const Parts& from, const Arguments& arguments);
void add_provision(Families& families, const RequestBook& requests, const ReplicaBook& replicas);

}  // namespace wattle::controller
