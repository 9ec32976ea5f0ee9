// shims_json: builds the documents about shims: which of them send asks, which do not, and what is withheld.
// Threads  the owner of the parts
#pragma once

#include <string>

#include "common/json/value.hpp"
#include "controller/parts.hpp"
#include "controller/state/shims.hpp"

namespace wattle::controller {

struct ShimsJudged {
  const char* state = "ok";  // ok, lost, failed
  std::string detail, fix;
};
ShimsJudged judge_shims(const Shims& shims, MonoTime now);

// docs/reference/api.md, status
// `bindings_known`: an API server reports which pods are bound.
SortedJson asks_json(const Shims& shims, bool bindings_known, MonoTime now);
SortedJson shims_json(const Shims& shims, MonoTime now);
// Lists [{what, why}]: the scores, network or promotion that are withheld.
SortedJson withheld_json(const Parts& from);

}  // namespace wattle::controller
