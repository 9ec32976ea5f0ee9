// rtc_alarm: the alarm of the machine's clock, which wakes a sleeping node if no other means does.
// Source   <sys>/class/rtc/rtc0/{wakealarm,since_epoch,device/power/wakeup}
// Proof    the alarm is read back. Firmware decides whether it also starts a machine that is powered off
// Limit    a clock whose alarm has no date accepts at most a day; a longer alarm is then set to a day
// Others   an earlier alarm of another program stays, because the node then wakes sooner; a later one is replaced
// Units    s
// Errors   unsupported (no clock, or one that cannot wake), denied, conflict (the clock does not keep the alarm), io;
//          each names the file
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace wattle::agent {

class RtcAlarm {
 public:
  explicit RtcAlarm(const std::string& sys) : dir_(sys + "/class/rtc/rtc0") {}
  virtual ~RtcAlarm() = default;
  // Returns why the clock cannot wake the machine. Changes nothing.
  Status check() const;
  Status arm(std::uint64_t after_s);
  // Clears the alarm that arm() set, if any.
  void disarm();

 protected:
  // Writes the alarm's time, in seconds since 1970 by this clock; 0 clears it. Tests refuse times as drivers do.
  virtual Status write(std::uint64_t at_s) const;

 private:
  Result<std::uint64_t> read(const char* name) const;
  Status set(std::uint64_t at_s) const;

  std::string dir_;
  bool armed_ = false;
};

}  // namespace wattle::agent
