// known_arguments: rejects arguments that a request does not have, so that a mistyped one is not ignored.
// Rules    one list per document and order of docs/reference/api.md; "weight.NAME" matches every weight
// Errors   malformed: names the unknown argument, the closest known one and all known ones
// Threads  pure functions
#pragma once

#include <string_view>

#include "common/http/server.hpp"
#include "common/result.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

inline constexpr std::string_view kNoQuery = "this path";  // a `what` without arguments

// Checks the arguments of a document or order. Accepts all for an unknown `what`, which fails for its own reason.
Status check_arguments(std::string_view what, const Arguments& arguments);
// Checks the query of an HTTP request, which also must not contain an argument twice.
Status check_query(std::string_view what, const http::Request& request);

}  // namespace wattle::controller
