// page_change: the only request that lets the page change the cluster: the mode, and the limit of waiting.
// Rules    requires the operator's token with each request, as a bearer token; cookies and the viewers' token are not
//          accepted. Requires the header that only a script of this page can set, and this origin if the browser
//          reports one (Sec-Fetch-Site, otherwise Origin against Host: Fetch Metadata, RFC 6454). The body is JSON with
//          a JSON content type, at most kMostChangeBytes, with known keys only
// Does     the same as `wattle policy set`, with the same checks, gates, audit and errors; the author is "page/ADDRESS"
// Errors   none: statuses 400, 401, 403, 409 (a gate is closed), 413, 415, 503; all but 400, 409 and 503 count as
//          refused
// Threads  any
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/http/server.hpp"
#include "common/http/token.hpp"
#include "common/result.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostChangeBytes = 4096;

// Takes the arguments of policy-set and the author; returns the document `policy` after the change.
using MakeChange = std::function<Result<std::string>(const Arguments& arguments, const std::string& who)>;

// Returns the operator's token of a file, no token if `file` is empty, or an error if readers have the same token.
Result<std::optional<http::Token>> load_operators(const std::string& file, const std::optional<http::Token>& readers);

// Returns the refusal that the request's headers require, before the body is read; nullopt if it passes. Without
// `operators` all requests are refused.
std::optional<http::Response> refuse_change(const std::optional<http::Token>& operators, const http::Request& request);
http::Response answer_change(const std::optional<http::Token>& operators, const MakeChange& make,
                             const http::Request& request);

}  // namespace wattle::controller
