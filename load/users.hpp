// users: requests as users make them, over kept HTTP/1.1 connections, and what became of each.
// Open     a request is due by the clock and counts from then, whether or not a connection is free to send it: what a server
//          that stalls does to those who come meanwhile is in the figures (no coordinated omission)
// Closed   each of N users waits for an answer, thinks, and asks again: due when it has thought
// Source   Boost.Asio and Boost.Beast, in users.cpp alone
// Bounds   connections, requests that wait for one (16 bytes each), no answer is kept
// Errors   not_found (the name), unavailable (nobody answers there when it begins), exhausted (open files)
// Threads  one; the caller's
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/http/origin.hpp"
#include "common/result.hpp"
#include "common/stop_signal.hpp"
#include "load/arrivals.hpp"
#include "load/tally.hpp"

namespace wattle::load {

struct ClosedLoop {
  std::size_t users = 1;
  Duration think{};  // mean; exponential where spacing is poisson, else always this
  Spacing spacing = Spacing::poisson;
  Duration length{};
};

struct UserLoad {
  http::Origin origin;               // plain
  std::string request;               // its bytes
  bool bodiless = false;             // answers have no body: HEAD
  std::optional<Arrivals> arrivals;  // absent: a closed loop
  ClosedLoop closed;
  Duration timeout = std::chrono::seconds(10);  // from when a request is due
  std::size_t most_connections = 256;           // of an open loop
  std::size_t most_waiting = 100'000;           // of an open loop; beyond it a request is unsent
  std::uint64_t seed = 1;
};

// Of the last second.
struct Progress {
  Duration since_start{};
  std::uint64_t due = 0, answered = 0, failed = 0;
  std::size_t under_way = 0, waiting = 0;  // now
  Spread latency;
};

// Until all that is due has been answered or has failed, or the signal comes. `told` is called each second; may be empty.
Result<Tally> apply_users(const UserLoad& load, const Clock& clock, StopSignal& stop,
                          const std::function<void(const Progress&)>& told);

// "GET /path HTTP/1.1" and what follows; of `headers` each is "Name: value".
// Errors   malformed: a header that is no header, or one that is set already (Host, Content-Length, ...)
Result<std::string> request_bytes(const http::Origin& origin, const std::string& method, const std::string& target,
                                  const std::vector<std::string>& headers, const std::string& body);

}  // namespace wattle::load
