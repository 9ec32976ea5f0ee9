// probe_http: the request that an HTTP probe sends, and how much of the answer it needs: the status. Pure.
// Source   RFC 9112, sections 3 and 4
// Errors   none; bytes that are no HTTP are an answer of that kind
// Threads  any
//
// No Beast here: the probes of all targets share one poll loop, and need one line of the answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wattle::agent {

inline constexpr std::size_t kMaxAnswerHead = 8192;  // bytes looked at for a status; more without one is no HTTP

// "GET /path HTTP/1.1", to be sent on a connection that is used once. A host of IPv6 digits gets its brackets.
std::string http_request(std::string_view host, std::uint16_t port, std::string_view path);

// A path that may stand in a request line: begins with '/', printable ASCII without blanks, at most 1024 bytes.
bool valid_http_path(std::string_view path);

enum class HttpAnswer : std::uint8_t { incomplete, good, bad };

// What the bytes that came so far are: `good` once they hold a status line below 500, `bad` for 500 or more and for
// what cannot become HTTP/1. Interim answers (1xx) are passed over. What it says beyond `incomplete` no further
// bytes change.
HttpAnswer judge_http_answer(std::string_view bytes);

}  // namespace wattle::agent
