// metrics: the controller's numbers as Prometheus text; docs/reference/metrics.md lists each.
// Source   the same state that documents are made from
// Threads  the owner of the sources
#pragma once

#include <string>

#include "controller/web/sources.hpp"

namespace wattle::controller {

std::string metrics_text(const Sources& from);

}  // namespace wattle::controller
