// api_errors: the error for a reply with which the API server refuses a change.
// Gives    denied (401, 403), not_found (404), conflict (409), malformed (400, 413, 422), unavailable (all else), each
//          with the server's message
// Threads  pure
#pragma once

#include <string>

#include "common/kube/reflector.hpp"
#include "common/result.hpp"

namespace wattle::controller::power {

// Message of a v1.Status, shortened; empty if the body has none.
std::string message_of(const kube::Reply& reply);

// `right`: what the chart's role must allow, as in "patch nodes".
tl::unexpected<Error> api_error(const std::string& subject, const kube::Reply& reply, const std::string& right);

}  // namespace wattle::controller::power
