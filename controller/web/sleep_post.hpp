// sleep_post: POST /api/v1/sleep/order, for programs that order sleeps and wakes over HTTP: {"order": "sleep-wake",
// "node": "n1"}.
// Rules    requires the operator's token with each request, as a bearer token, and a JSON body with known keys only
// Does     the same as the query of that name on the ask socket (sleep_orders.hpp); the author is "http/ADDRESS"
// Errors   none: statuses 400, 401, 403 (no operator's token is configured), 404 (no such node), 409 (a rule forbids
//          it), 413, 415, 503 (retry later)
// Threads  any
#pragma once

#include <optional>
#include <set>
#include <string>

#include "common/http/server.hpp"
#include "common/http/token.hpp"
#include "common/result.hpp"
#include "controller/web/page_change.hpp"

namespace wattle::controller {

inline constexpr std::string_view kSleepPost = "/api/v1/sleep/order";

// `make`: takes the arguments with the order's name as `order`, and the author; returns a JSON object.
void add_sleep_post(http::Routes& routes, std::set<std::string>& open_paths,
                    const std::optional<http::Token>& operators, MakeChange make);

}  // namespace wattle::controller
