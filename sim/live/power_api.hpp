// power_api: the requests of the power driver `exec` for simulated nodes: its program only has to post what it reads
// and print the answer (curl --data-binary @- http://ADDRESS/power).
// Format   docs/reference/power-drivers.md, Programs
// Units    in names
// Errors   statuses 400 (which field), 404 (no such node), 409 (the nodes cannot sleep, or not to that depth)
// Threads  pure except for the fleet that is passed in
#pragma once

#include <string_view>

#include "common/http/server.hpp"
#include "sim/live/fleet.hpp"

namespace wattle::sim::live {

http::Response answer_power(Fleet& fleet, std::string_view body, MonoTime now);

}  // namespace wattle::sim::live
