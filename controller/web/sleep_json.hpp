// sleep_json: the document `sleep`: the last sleep plan with the reasons of nodes that stay awake, the power states of
// nodes, and their transitions.
// Source   power::SleepControl
// Units    in names
// Errors   malformed (argument), not_found (node)
// Threads  the loop's
#pragma once

#include "controller/parts.hpp"
#include "controller/steps.hpp"
#include "controller/web/arguments.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

Document sleep_text(const Parts& from, const Arguments& arguments);
void add_sleep(Families& families, const power::SleepControl& sleep);

}  // namespace wattle::controller
