// watch: the option -w of lists: follows the controller's feed until Ctrl-C.
// Errors   those of the controller; a feed that does not answer. Losing the feed later only causes a warning
// Threads  main only
#pragma once

#include <functional>
#include <string>

#include "cli/controller.hpp"
#include "cli/show.hpp"

namespace wattle::cli {

using Fetch = std::function<Result<Json>(Controller&)>;
// Fetches and shows after each change, at most once per second.
Outcome watch_table(const Invocation& invocation, const Fetch& fetch, const std::function<Status(const Json&)>& show);
// Prints each decision once, when it is made; `name_space`: only decisions about its pods; empty: all.
Outcome watch_decisions(const Invocation& invocation, const std::string& name_space);

}  // namespace wattle::cli
