// arrivals: due times of the requests of an open loop, independent of their answers.
// Units    rates in requests/s; times from the start of the run
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
  even,     // due whenever the sum of the rates reaches the next whole number
  poisson,  // like many independent users
};

class Arrivals {
 public:
  // Requires rate_rps > 0.
  static Arrivals constant(double rate_rps, Duration length, Spacing spacing, std::uint64_t seed);
  // Each second of the trace lasts 1/speed s and keeps its number of requests.
  static Arrivals of_trace(const RateTrace& trace, double speed, Spacing spacing, std::uint64_t seed);
  // Ends the arrivals at `length`.
  void cut(Duration length) { length_ = std::min(length_, length); }
  Duration length() const { return length_; }
  // Due time of the next request, never earlier than the last; no value after the end.
  std::optional<Duration> next();

 private:
  Arrivals(std::vector<double> requests, double step_s, Spacing spacing, std::uint64_t seed);
  std::vector<double> requests_;  // per step
  double step_s_;
  Spacing spacing_;
  stats::Random random_;
  Duration length_;
  std::size_t step_ = 0;
  double before_ = 0;  // requests of all earlier steps
  double wanted_;      // sum of requests at which the next one is due
};

}  // namespace wattle::load
