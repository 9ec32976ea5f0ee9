// probe: how long users' first step takes: TCP connects to named targets.
// Source   non-blocking connect(2) to each target once a second, names resolved again every minute
// Gives    per target over the last 60 s: p50, p95, jitter (mean |difference of consecutive answers|), share lost
// Units    ms; loss_ratio 0..1
// Errors   a name that does not resolve, a refusal, a timeout (1 s) and anything else count as lost, each in its own
// counter Threads  ProbeWindow single owner; Prober has one thread of its own, values() from any. At most
// kMaxProbeTargets at once
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

inline constexpr std::size_t kMaxProbeTargets = 64;

struct ProbeTarget {
  std::string name;
  std::string host;
  std::uint16_t port = 0;
};

enum class ProbeEnd : std::uint8_t { answered, dns, refused, timeout, unreachable };
std::string_view to_string(ProbeEnd end);

struct ProbeResult {
  MonoTime at;
  ProbeEnd end = ProbeEnd::answered;
  double round_trip_ms = 0;  // when answered
};

// The results of one target within a span of time.
class ProbeWindow {
 public:
  explicit ProbeWindow(Duration span = std::chrono::seconds(60)) : span_(span) {}
  void add(const ProbeResult& result);
  // Forgets what is older than the span.
  ProbeValues values(const std::string& target, MonoTime now);
  // Of all time, by ProbeEnd.
  const std::array<std::uint64_t, 5>& counts() const { return counts_; }

 private:
  Duration span_;
  std::deque<ProbeResult> results_;
  std::array<std::uint64_t, 5> counts_{};
  std::vector<double> sorted_;
};

struct ProbeCounts {
  std::string target;
  std::array<std::uint64_t, 5> by_end{};
};

class Prober {
 public:
  Prober(std::vector<ProbeTarget> targets, const Clock& clock, const Log& log);
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;
  ~Prober();  // stops the thread
  // One connect to each target, all at once; returns when all have ended (at most after the timeout and name
  // resolution).
  void round();
  // round() every second on a thread of its own.
  void start();
  std::vector<ProbeValues> values();
  std::vector<ProbeCounts> counts();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::agent
