// sleep_json: the document `sleep`: which nodes could sleep by the last plan, and why the others stay awake.
// Source   power::SleepControl
// Units    in names
// Errors   none
// Threads  the loop's
#pragma once

#include "controller/parts.hpp"
#include "controller/steps.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

Document sleep_text(const Parts& from);
void add_sleep(Families& families, const power::SleepControl& sleep);

}  // namespace wattle::controller
