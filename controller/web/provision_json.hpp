// provision_json: the document `provision`: what workloads request, need and should request, and what that would free.
// Bounds   `limit` rows, those that would free or take most first; all in the totals
// Errors   malformed (argument), not_found (workload; provisioning.level is off)
// Threads  the owner of the sources
#pragma once

#include <map>
#include <string>

#include "controller/web/metric_families.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

// `workload`: that one, as NAMESPACE/KIND/NAME, or any end of it that one workload alone has. `only`: "suggested", those with another
// request than they have. `limit`.
Result<std::string> provision_text(const Sources& from, const std::map<std::string, std::string>& arguments);
void add_provision(Families& families, const Sources& from);

}  // namespace wattle::controller
