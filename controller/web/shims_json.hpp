// shims_json: who asks for placements, who does not, and what answers leave out, as documents show it.
// Threads  the owner of the sources
#pragma once

#include <string>

#include "common/json/value.hpp"
#include "controller/state/shims.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

struct ShimsJudged {
  const char* state = "ok";  // ok, lost, failed
  std::string detail, mend;
};
ShimsJudged judge_shims(const Shims& shims, MonoTime now);

// docs/reference/api.md, status
SortedJson asks_json(const Sources& from);
SortedJson shims_json(const Sources& from);
// [{what, why}]: what could be said of a placement, and is not.
SortedJson withheld_json(const Sources& from);

}  // namespace wattle::controller
