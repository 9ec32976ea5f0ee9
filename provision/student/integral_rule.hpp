// integral_rule: moves the margin of a workload over its usage once a minute, by the share of its requests that took
// longer than their target.
// Source   requests of one minute, and how many of them exceeded the target; without a known latency, periods and how
//          many of them were throttled, with an aim for that
// Gives    the margin of the student's base (student.hpp)
// Units    ratios
// Errors   none: a minute without requests does not change the margin
// Threads  pure function
#pragma once

#include <cstdint>

namespace wattle::actuator {

struct IntegralRules {
  double aim_ratio = 0.003;  // share of requests over target: 0.01 is a 99th percentile at the target, and minutes vary
  double gain = 10;          // change of margin per share over the aim
  double most_step = 0.3;    // change of margin per minute
  double least_margin = -0.1, most_margin = 4;  // a base slightly below the mean works with a burst
};

struct MinuteOfRequests {
  std::uint64_t count = 0, over = 0;  // over <= count
};

// Aim of the share of throttled periods, where no latency is known.
inline constexpr double kThrottledAim = 0.02;

double next_margin(const IntegralRules& rules, double margin_ratio, const MinuteOfRequests& minute);

}  // namespace wattle::actuator
