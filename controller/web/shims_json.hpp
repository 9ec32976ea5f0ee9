// shims_json: builds the documents about shims: which of them send asks, which do not, and what is withheld.
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
// Lists [{what, why}]: the scores, network or promotion that are withheld.
SortedJson withheld_json(const Sources& from);

}  // namespace wattle::controller
