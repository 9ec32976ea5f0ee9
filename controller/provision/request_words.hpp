// request_words: describes a workload's requests in sentences: the need, the suggestion and its reason, unknown values,
// and obstacles.
// Errors   none
// Threads  pure functions
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/provision/request_book.hpp"

namespace wattle::controller {

// "learning": no suggestion yet; "raise", "lower", "change" (one up, one down), "keep".
std::string_view state_of(const RequestWorkload& workload);
// "8 more hours", "25 more minutes".
std::string more_time(double seconds);
std::vector<std::string> request_words(const RequestWorkload& workload);

}  // namespace wattle::controller
