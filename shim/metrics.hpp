// metrics: counters of the shim for Prometheus (docs/reference/metrics.md lists them).
// Source   prometheus-cpp core; served by common/http
// Units    base units: seconds
// Threads  any
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/http/access.hpp"
#include "shim/latency_veto.hpp"
#include "shim/prioritizer.hpp"

namespace wattle::shim {

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  // Counts a request of a verb, answered with an HTTP status.
  void request(std::string_view verb, int status, Duration took);
  void answer(const Scores& answer, std::size_t problems);
  void filtered(const Veto& veto, std::size_t problems);
  void preempted(const Veto& veto);
  void refused(const http::RefusalCounts& counts);
  void breaker(BreakerState state, std::uint64_t times_opened);
  void board(std::optional<Duration> age);
  // Text exposition format 0.0.4.
  std::string page() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::shim
