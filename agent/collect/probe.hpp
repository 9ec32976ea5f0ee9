// probe: measures round trips to named targets by TCP connects, HTTP requests and ICMP echoes.
// Source   non-blocking sockets, one poll loop for all targets. Names are resolved again every minute (names.hpp). If
//          an address of a name takes no connection, the prober tries the next one and keeps it while it answers
// Gives    per target the values of probe_window.hpp over the last 60 s. A round trip is, by kind:
//            tcp   connect(2) to the end of the handshake
//            http  connect(2) to the end of the status line, on a separate connection; plain HTTP
//            icmp  echo request to echo reply
// Units    ms; loss_ratio 0..1
// Errors   open_: io. A failure of a target is a result with its own counter. A failure of the prober itself (no
//          descriptor, no right to ICMP) is logged once and does not count as a probe
// Threads  starts one (and those of names.hpp); values() and counts() from any
//
// At most one probe of a target runs at a time, at most kMaxProbeTargets altogether, and at most kMaxAnswerRead bytes
// of an HTTP answer are read. Sockets for ICMP are opened in open_: call it before capabilities are dropped.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/collect/probe_window.hpp"
#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

inline constexpr std::size_t kMaxAnswerRead = 65536;

struct ProbeCounts {
  std::string target;
  ProbeEnds by_end{};
  RoundTrips round_trips{kRoundTripBounds_s};
};

class Prober {
 public:
  static Result<Prober> open_(std::vector<ProbeTarget> targets, const Clock& clock, const Log& log);
  Prober(Prober&&) noexcept;
  Prober& operator=(Prober&&) = delete;
  ~Prober();  // stops the thread
  // Probes each target once, all concurrently, and returns when all have ended. Do not call after start().
  void round();
  // Starts a thread that probes each target at its interval.
  void start();
  std::vector<ProbeValues> values();
  std::vector<ProbeCounts> counts();

 private:
  struct Impl;
  explicit Prober(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::agent
