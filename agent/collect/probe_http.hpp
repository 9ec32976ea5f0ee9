// probe_http: the request of an HTTP probe, and the part of the answer that it needs: the status. Pure.
// Source   RFC 9112, sections 3 and 4
// Errors   none; bytes that are not HTTP count as a bad answer
// Threads  any
//
// Does not use Beast: the probes of all targets share one poll loop, and need one line of the answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wattle::agent {

inline constexpr std::size_t kMaxAnswerHead = 8192;  // bytes searched for a status; more without one is not HTTP

// "GET /path HTTP/1.1", for a connection that is used once. An IPv6 address gets its brackets.
std::string http_request(std::string_view host, std::uint16_t port, std::string_view path);

// Returns whether the path is valid in a request line: begins with '/', printable ASCII without blanks, at most 1024
// bytes.
bool valid_http_path(std::string_view path);

enum class HttpAnswer : std::uint8_t { incomplete, good, bad };

// Judges the bytes received so far: `good` for a status line below 500, `bad` for 500 or more and for bytes that cannot
// become HTTP/1. Skips interim answers (1xx). A result other than `incomplete` is final.
HttpAnswer judge_http_answer(std::string_view bytes);

}  // namespace wattle::agent
