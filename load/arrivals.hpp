// arrivals: when requests of an open loop are due, whatever becomes of those before.
// Units    requests/s in, time from the start out
// Errors   none
// Threads  single owner; the same seed gives the same times
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/clock.hpp"
#include "common/rate_trace.hpp"
#include "common/stats/draws.hpp"

namespace wattle::load {

enum class Spacing {
  even,     // one exactly when the rates so far sum to another whole request
  poisson,  // as of many users that know nothing of each other
};

class Arrivals {
 public:
  // rate_rps > 0
  static Arrivals constant(double rate_rps, Duration length, Spacing spacing, std::uint64_t seed);
  // Each second of the trace lasts 1/speed s, and brings its requests in that time.
  static Arrivals of_trace(const RateTrace& trace, double speed, Spacing spacing, std::uint64_t seed);
  // Nothing is due from there on.
  void cut(Duration length) { length_ = std::min(length_, length); }
  Duration length() const { return length_; }
  // Never falls; absent: there are no more.
  std::optional<Duration> next();

 private:
  Arrivals(std::vector<double> requests, double step_s, Spacing spacing, std::uint64_t seed);
  std::vector<double> requests_;  // of each step
  double step_s_;
  Spacing spacing_;
  stats::Random random_;
  Duration length_;
  std::size_t step_ = 0;
  double before_ = 0;  // requests of the steps before
  double wanted_;      // sum of requests at which the next is due
};

}  // namespace wattle::load
