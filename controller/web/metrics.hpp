// metrics: exports the controller's figures as Prometheus text; docs/reference/metrics.md lists each.
// Source   the state that documents are built from
// Threads  the owner of the parts
#pragma once

#include "controller/parts.hpp"
#include "controller/steps.hpp"

namespace wattle::controller {

Document metrics_text(const Parts& from);

}  // namespace wattle::controller
