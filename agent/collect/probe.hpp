// probe: how long users' first step takes: TCP connects, HTTP requests and ICMP echoes to named targets.
// Source   sockets that never block, one poll loop for all targets; names asked for again every minute (names.hpp). Of a
//          name's addresses the next one is tried where one takes no connection, and stays while it answers
// Gives    per target over the last 60 s what probe_window.hpp tells. A round trip is, by kind:
//            tcp   connect(2) to the end of the handshake
//            http  connect(2) to the end of the status line, on a connection of its own; plain HTTP
//            icmp  echo request to echo reply
// Units    ms; loss_ratio 0..1
// Errors   open_: io. What goes wrong with a target is a result, in its own counter; what goes wrong with ourselves
//          (no descriptor, no right to ICMP) is logged once and counts as no probe at all
// Threads  one of its own (and those of names.hpp); values() and counts() from any
//
// At most one probe of a target is under way, at most kMaxProbeTargets altogether, and of an HTTP answer at most
// kMaxAnswerRead bytes are read. Sockets for ICMP are opened in open_: call it before capabilities are dropped.
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
  // One probe of each target, all at once; returns when all have ended. Not after start().
  void round();
  // Each target at its interval, on a thread of its own.
  void start();
  std::vector<ProbeValues> values();
  std::vector<ProbeCounts> counts();

 private:
  struct Impl;
  explicit Prober(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::agent
