// exec_answer: the JSON that an operator's power program prints.
// Source   standard output of the program: observe prints {"state": "on", "power_w": 85}, probe prints
//          {"depths": ["off"], "wake_time_s": 150, "asleep_power_w": 9}
// Errors   malformed: not such JSON, an unknown member, or a value out of range; keeps the text
// Units    s, W
// Threads  pure
#pragma once

#include <string>
#include <string_view>

#include "common/result.hpp"
#include "controller/power/node_power.hpp"

namespace wattle::controller::power {

// `program` names the program in errors.
Result<Observation> parse_exec_observation(std::string_view text, const std::string& program);
// can_wake and can_observe are true: the configuration says what the program is for.
Result<Capabilities> parse_exec_capabilities(std::string_view text, const std::string& program);

}  // namespace wattle::controller::power
