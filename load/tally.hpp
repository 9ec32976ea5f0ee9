// tally: results of the requests of a run.
// Units    ms; a percentile is at most 1% above the true one
// Errors   none
// Threads  values; fixed size, regardless of the number of requests
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "common/clock.hpp"
#include "common/stats/histogram.hpp"

namespace wattle::load {

// Reason why a request was not answered.
enum class Failure { refused, unreachable, closed, malformed, timeout, unsent };
inline constexpr std::array<std::string_view, 6> kFailureNames{"refused",   "unreachable", "closed",
                                                               "malformed", "timeout",     "unsent"};

// Distribution of a duration over all requests.
class Spread {
 public:
  void add(Duration took) {
    const double ms = std::max(seconds(took), 0.0) * 1e3;
    histogram_.add(ms, 1);
    sum_ms_ += ms;
    most_ms_ = std::max(most_ms_, ms);
    ++count_;
  }
  std::uint64_t count() const { return count_; }
  double mean_ms() const { return count_ == 0 ? 0 : sum_ms_ / static_cast<double>(count_); }
  double most_ms() const { return most_ms_; }
  double quantile_ms(double share) const { return std::min(histogram_.quantile(share), most_ms_); }

 private:
  stats::FineHistogram histogram_;
  double sum_ms_ = 0, most_ms_ = 0;
  std::uint64_t count_ = 0;
};

struct Tally {
  std::uint64_t due = 0, answered = 0;
  std::uint64_t cut_off = 0;         // neither answered nor failed when the run was interrupted
  std::uint64_t reconnected = 0;     // kept connections that the peer had closed; the request was repeated on a new one
  std::uint64_t body_bytes = 0;      // received with answers
  std::size_t most_connections = 0;  // at the same time
  std::map<int, std::uint64_t> by_status;
  std::array<std::uint64_t, kFailureNames.size()> failed{};
  // Time from due to answered. A timeout counts with its duration; other failures do not count.
  Spread latency;
  // Time from due until sent on an open connection (or timed out before), and from sent to answered.
  Spread waited, answering;
  Duration offered{};  // time during which requests were due
  Duration lasted{};   // time until the last request was answered, failed or cut off

  void fail(Failure why) { ++failed[static_cast<std::size_t>(why)]; }
  std::uint64_t failures() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t each : failed) sum += each;
    return sum;
  }
  double answered_rps() const { return lasted > Duration{} ? static_cast<double>(answered) / seconds(lasted) : 0; }
};

}  // namespace wattle::load
