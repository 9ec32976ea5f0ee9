// sizing_json: describes right sizes in the document `provision`: the mode, owners by state, an owner's order for the
// client that sets requests, and what was measured since its requests were lowered.
// Errors   none
// Threads  the owner of the parts
#pragma once

#include <string>

#include "common/json/value.hpp"
#include "controller/provision/sizing_ladder.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

SortedJson sizing_json(const SizingLadder& sizing);
// Null if the owner has not opted in and was never changed.
SortedJson owner_sizing_json(const SizingLadder& sizing, const std::string& owner);
void add_sizing(Families& families, const SizingLadder& sizing);

}  // namespace wattle::controller
