// margins_json: the document `margins`: services whose CPU limits their nodes set, what the teacher of provisioning would do about their
// margins beside the nodes' own rule, and what that has shown.
// Bounds   `limit` rows, those first in which teacher and rule differ most
// Errors   malformed (argument), not_found (provisioning.teacher is off)
// Threads  the owner of the sources
#pragma once

#include <map>
#include <string>

#include "controller/web/metric_families.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

Result<std::string> margins_text(const Sources& from, const std::map<std::string, std::string>& arguments);
void add_margins(Families& families, const Sources& from);

}  // namespace wattle::controller
