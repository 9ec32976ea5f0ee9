// clock: the only source of time in the program.
// Source   CLOCK_MONOTONIC and CLOCK_REALTIME, or a manual clock that tests and the simulator advance
// Units    std::chrono inside, nanoseconds on the wire
// Errors   none
// Threads  SystemClock from any; ManualClock single owner
#pragma once

#include <chrono>
#include <cstdint>

namespace wattle {

using Duration = std::chrono::nanoseconds;

struct MonoTag {};
struct WallTag {};
// Time since an arbitrary start of this machine (in the simulator, of the run). Never jumps.
using MonoTime = std::chrono::time_point<MonoTag, Duration>;
// Time since the Unix epoch, UTC. May jump; use it only for people and logs.
using WallTime = std::chrono::time_point<WallTag, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonoTime mono() const = 0;
  virtual WallTime wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  MonoTime mono() const override;
  WallTime wall() const override;
};

class ManualClock final : public Clock {
 public:
  explicit ManualClock(MonoTime mono = MonoTime{}, WallTime wall = WallTime{}) : mono_(mono), wall_(wall) {}
  MonoTime mono() const override { return mono_; }
  WallTime wall() const override { return wall_; }
  void advance(Duration by) {
    mono_ += by;
    wall_ += by;
  }
  void advance_to(MonoTime when) {
    if (when > mono_) advance(when - mono_);
  }
  // Moves the wall clock only, as NTP or an operator does; the monotonic clock does not jump.
  void step_wall(Duration by) { wall_ += by; }

 private:
  MonoTime mono_;
  WallTime wall_;
};

inline std::int64_t to_ns(MonoTime t) { return t.time_since_epoch().count(); }
inline std::int64_t to_ns(WallTime t) { return t.time_since_epoch().count(); }
inline MonoTime mono_from_ns(std::int64_t ns) { return MonoTime(Duration(ns)); }
inline WallTime wall_from_ns(std::int64_t ns) { return WallTime(Duration(ns)); }
inline double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
inline Duration from_seconds(double s) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}

}  // namespace wattle
