// page_change: the one request by which the page changes something: the mode, the limit of waiting.
// Rules    the operator's token with each request, as a bearer: no cookie has it, and the token of those who look does not do. The header
//          that only a script of this page can set; from this origin, where a browser says from which (Sec-Fetch-Site, else Origin against
//          Host: Fetch Metadata, RFC 6454); JSON that says it is JSON, at most kMostChangeBytes, with known keys alone
// Does     what `wattle policy set` does, by the same way: the same checks, gates, audit and errors; who is "page/ADDRESS"
// Errors   none: statuses 400, 401, 403, 409 (a gate is closed), 413, 415, 503; all but 400, 409 and 503 are counted as refused
// Threads  any
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "common/http/server.hpp"
#include "common/http/token.hpp"
#include "common/result.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostChangeBytes = 4096;

// Arguments of policy-set, and who asks; gives the document `policy` afterwards.
using MakeChange =
    std::function<Result<std::string>(const std::map<std::string, std::string>& arguments, const std::string& who)>;

// The refusal that a request's header decides, before its body is read; nullopt: it passes. `operators` absent: no request does.
std::optional<http::Response> refuse_change(const std::optional<http::Token>& operators, const http::Request& request);
http::Response answer_change(const std::optional<http::Token>& operators, const MakeChange& make,
                             const http::Request& request);

}  // namespace wattle::controller
