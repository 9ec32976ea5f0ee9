// margins_json: builds the document `margins`: services whose CPU limits their nodes set, the teacher's choice of
// margin beside the rule's, and the result of the trial.
// Bounds   `limit` rows, those with the largest difference between teacher and rule first
// Errors   malformed (argument), not_found (provisioning.teacher is off)
// Threads  the owner of the parts
#pragma once

#include <string>

#include "common/result.hpp"
#include "controller/parts.hpp"
#include "controller/web/arguments.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

Result<std::string> margins_text(const Parts& from, const Arguments& arguments);
void add_margins(Families& families, const Parts& from);

}  // namespace wattle::controller
