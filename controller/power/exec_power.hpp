// exec_power: controls a node's power through a program of the operator, which reads one request as JSON on its
// standard input.
// Request  {"version": 1, "request": "sleep", "node": "n1", "labels": {}, "time_limit_s": 30, "operation": 7, "depth":
//          "off"}; request is probe, sleep, wake or observe; operation comes with sleep and wake, depth with sleep
// Answer   the exit status, and for probe and observe JSON on standard output (exec_answer.hpp)
// Limits   the program and its process group are killed at the limit, and so are the processes that it leaves running
//          when it ends
// Errors   those of bounded_process.hpp and exec_answer.hpp, and of the exit status: 64 unsupported, 69 unavailable, 75
//          conflict (refused for now), 77 denied, any other but 0 io (sysexits.h); keeps the output
// Threads  any
#pragma once

#include <memory>
#include <utility>

#include "common/clock.hpp"
#include "controller/power/node_power.hpp"
#include "controller/power/power_config.hpp"

namespace wattle::controller::power {

std::shared_ptr<NodePower> make_exec_power(ExecConfig config, const Clock& clock);

}  // namespace wattle::controller::power
