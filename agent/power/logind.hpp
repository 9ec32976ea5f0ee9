// logind: client of systemd's login manager over D-Bus. Suspends this machine or powers it off.
// Source   org.freedesktop.login1.Manager at the system bus: ListInhibitors, CanSuspend, CanPowerOff, Suspend, PowerOff
// Errors   unavailable (no bus, or no logind on it), unsupported (the machine lacks this depth), denied (the agent may
//          not), conflict (a program holds an inhibitor), timeout, malformed; each names bus or program
// Threads  single owner; each call opens a separate connection, and each request on it blocks for at most `patience`
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "agent/power/sleep_config.hpp"
#include "common/result.hpp"

namespace wattle::agent {

class Logind {
 public:
  // `bus`: path of the bus's socket, "/run/dbus/system_bus_socket".
  explicit Logind(std::string bus, std::chrono::milliseconds patience = std::chrono::seconds(2))
      : bus_(std::move(bus)), patience_us_(static_cast<std::uint64_t>(std::chrono::microseconds(patience).count())) {}
  // Returns why the machine cannot go to this depth now.
  Status check(SleepDepth depth) const;
  // Orders the sleep. Logind answers first, and puts the machine to sleep once programs with a delaying inhibitor are
  // ready.
  Status sleep(SleepDepth depth) const;

 private:
  std::string bus_;
  std::uint64_t patience_us_;
};

}  // namespace wattle::agent
