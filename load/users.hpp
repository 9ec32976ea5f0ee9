// users: sends requests like users, over kept HTTP/1.1 connections, and measures each.
// Open     a request is due by the clock, and its time counts from then, even if no connection is free: the figures
//          include the effect of a stalled server on later requests (no coordinated omission)
// Closed   each of N users waits for an answer, thinks, and sends the next request, which is due after the think time
// Source   Boost.Asio and Boost.Beast, only in users.cpp
// Bounds   connections; requests that wait for one (16 bytes each); answers are not kept
// Errors   not_found (the name), unavailable (no answer at the start), exhausted (open files)
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
  Duration think{};  // mean; exponential if spacing is poisson, otherwise constant
  Spacing spacing = Spacing::poisson;
  Duration length{};
};

struct UserLoad {
  http::Origin origin;               // without TLS
  std::string request;               // complete bytes of the request
  bool bodiless = false;             // answers have no body: HEAD
  std::optional<Arrivals> arrivals;  // unset: a closed loop
  ClosedLoop closed;
  Duration timeout = std::chrono::seconds(10);  // since a request was due
  std::size_t most_connections = 256;           // only in an open loop
  std::size_t most_waiting = 100'000;           // only in an open loop; requests beyond it are unsent
  std::uint64_t seed = 1;
};

// Figures of the last second.
struct Progress {
  Duration since_start{};
  std::uint64_t due = 0, answered = 0, failed = 0;
  std::size_t under_way = 0, waiting = 0;  // current
  Spread latency;
};

// Runs until all due requests have been answered or have failed, or the signal comes. Calls `report` every second if it
// is set.
Result<Tally> apply_users(const UserLoad& load, const Clock& clock, StopSignal& stop,
                          const std::function<void(const Progress&)>& report);

// Returns the request, starting with "GET /path HTTP/1.1"; each of `headers` is "Name: value".
// Errors   malformed: an invalid header, or one that we set ourselves (Host, Content-Length, ...)
Result<std::string> request_bytes(const http::Origin& origin, const std::string& method, const std::string& target,
                                  const std::vector<std::string>& headers, const std::string& body);

}  // namespace wattle::load
