// findings: the controller's checks of itself: learning, store, API server, shims, keys, certificates; part of the
// document `doctor`.
// Threads  the owner of the parts
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/json/value.hpp"
#include "common/result.hpp"
#include "controller/parts.hpp"

namespace wattle::controller {

// Returns, for each certificate that is served or used for verification, its use and the end of the first one in its
// file.
std::vector<std::pair<std::string, Result<WallTime>>> certificate_ends(const Parts& from);

// [{name, state, detail, fix}]; state is ok, lost or failed.
SortedJson controller_findings(const Parts& from);

}  // namespace wattle::controller
