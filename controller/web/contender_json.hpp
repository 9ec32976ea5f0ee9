// contender_json: contenders with their reasons and figures, for the document `status` (docs/reference/api.md).
// Threads  pure
#pragma once

#include <vector>

#include "common/json/value.hpp"
#include "controller/decisions/contender.hpp"

namespace wattle::controller {

SortedJson contenders_json(const std::vector<Contender>& contenders);
// The same in one text; null where there is none.
SortedJson contenders_text(const std::vector<Contender>& contenders);

}  // namespace wattle::controller
