// overload: detects when telemetry needs more time than the loop has, and determines how much agents should send.
// Model    each second is a window. It is full if the loop sleeps less than a tenth of it and telemetry waits longer
//          than half a second; it is easy if the loop sleeps 40% and telemetry does not wait. Three full windows in a
//          row, in which the wait does not fall, double the interval of the agents' records; two easy ones shorten it,
//          so that the loop would be busy three quarters of the time. After each change the agents have time to follow.
//          Overload ends when the interval is at most the agents' own. Each time that the interval was shortened too
//          far, twice as many easy windows are needed
// Bound    the interval is at most `longest`, so that no node becomes stale
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/clock.hpp"

namespace wattle::controller {

// Limits of telemetry while the controller is overloaded.
struct Shedding {
  Duration tick{};           // shortest interval of records; 0: the agents' own, and the controller is not overloaded
  std::uint64_t credit = 0;  // most unacknowledged records of each agent
};

class Overload {
 public:
  explicit Overload(Duration longest) : longest_(longest) {}
  void slept(Duration time) { slept_ += time; }
  // Records how long a telemetry message waited before it was read.
  void waited(Duration time) {
    waited_ += time;
    ++messages_;
  }
  void record(Duration interval);
  // Closes the window if it is over; returns true if the interval changed.
  bool turn(MonoTime now);
  // The credit is what the loop reads in about a second.
  Shedding shedding(std::size_t sessions) const;

 private:
  void judge(MonoTime now, double busy_ratio, double wait_s);
  void lengthen(MonoTime now);
  void shorten(MonoTime now, double busy_ratio);

  Duration longest_;
  MonoTime began_{}, settled_at_{};
  Duration slept_{}, waited_{};
  std::uint64_t messages_ = 0, records_ = 0;
  Duration intervals_{};  // of the records of the window
  Duration mean_{};       // interval of the records in the last window with records
  Duration own_{};        // the same before the first change: the agents' own
  double records_per_s_ = 0;
  double wait_s_ = 0;        // in the first of the full windows
  int full_ = 0, easy_ = 0;  // windows in a row
  int easy_needed_ = 2;
  MonoTime shortened_at_{};
  Duration tick_{};
};

}  // namespace wattle::controller
