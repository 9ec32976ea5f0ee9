// probe_window: a probe's target and possible ends, and the statistics of its results in a window of time. Pure.
// Gives    per target over the last 60 s: p50, p95, jitter, share lost, and how the lost ones ended
// Units    ms; loss_ratio 0..1; std::chrono inside
// Errors   none
// Threads  values; ProbeWindow single owner
//
// Jitter is the mean |difference| of consecutive answers; lost probes between two answers do not matter.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "common/sample.hpp"
#include "common/stats/bucket_counts.hpp"

namespace wattle::agent {

// Together they bound the load: at most 64 probes at a time, and 256 started per second.
inline constexpr std::size_t kMaxProbeTargets = 64;
inline constexpr Duration kMinProbeInterval = std::chrono::milliseconds(250);
inline constexpr Duration kMaxProbeInterval = std::chrono::seconds(30);  // a window holds at least two

struct ProbeTarget {
  std::string name;
  std::string host;
  std::uint16_t port = 0;  // tcp and http
  ProbeKind kind = ProbeKind::tcp;
  std::string path = "/";  // http
  Duration interval = std::chrono::seconds(1);
  Duration timeout = std::chrono::seconds(1);  // at most the interval, so that one probe has ended when the next begins
};

// `bad_answer`: the target accepted the connection but did not answer HTTP, or answered a status of 500 or more.
enum class ProbeEnd : std::uint8_t { answered, dns, refused, timeout, unreachable, bad_answer };
inline constexpr std::size_t kProbeEnds = 6;
std::string_view to_string(ProbeEnd end);
using ProbeEnds = std::array<std::uint64_t, kProbeEnds>;  // by ProbeEnd
inline constexpr std::array kRoundTripBounds_s{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                               0.025,  0.05,    0.1,    0.25,  0.5,    1.0,   2.5};
using RoundTrips = stats::BucketCounts<kRoundTripBounds_s.size()>;  // seconds

struct ProbeResult {
  MonoTime at;
  ProbeEnd end = ProbeEnd::answered;
  double round_trip_ms = 0;  // when answered
};

// Returns the result of a probe that ends now. An answer after the timeout counts as a timeout.
ProbeResult judge(MonoTime began, MonoTime now, Duration timeout, ProbeEnd end);

// Returns the first time on the grid of `due` after `now`: skips missed probes instead of making up for them.
MonoTime next_due(MonoTime due, Duration interval, MonoTime now);

// The results of one target within a span of time.
class ProbeWindow {
 public:
  explicit ProbeWindow(Duration span = std::chrono::seconds(60)) : span_(span) {}
  void add(const ProbeResult& result);
  // Drops results older than the span.
  ProbeValues values(const std::string& target, ProbeKind kind, MonoTime now);
  // Totals since the start; round trips of answered probes only.
  const ProbeEnds& counts() const { return counts_; }
  const RoundTrips& round_trips() const { return round_trips_; }

 private:
  void forget(MonoTime now);
  Duration span_;
  std::deque<ProbeResult> results_;
  ProbeEnds counts_{};
  RoundTrips round_trips_{kRoundTripBounds_s};
  std::vector<double> sorted_;
};

}  // namespace wattle::agent
