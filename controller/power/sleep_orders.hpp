// sleep_orders: the orders about sleep: "sleep-empty", "sleep-exclude", "sleep-now" and "sleep-wake".
// Gives    a JSON object, as docs/reference/api.md describes it
// Errors   malformed (an argument is missing or invalid), not_found (no such order or node), unsupported (sleep is
//          off), conflict and unavailable (the node cannot sleep now); each with a fix
// Threads  the loop's
#pragma once

#include <map>
#include <string>

#include "common/result.hpp"

namespace wattle::controller::power {

class SleepControl;

// `kept`: the controller has a store.
Result<std::string> sleep_order(SleepControl& control, bool kept, const std::string& what,
                                const std::map<std::string, std::string>& arguments, const std::string& who);

}  // namespace wattle::controller::power
