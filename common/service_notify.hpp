// service_notify: reports to systemd that a program is ready, alive and stopping (Type=notify, WatchdogSec=).
// Source   the protocol of sd_notify(3): datagrams of VARIABLE=VALUE to $NOTIFY_SOCKET; $WATCHDOG_USEC and
//          $WATCHDOG_PID. Does not use libsystemd: its sd_notify() blocks while the manager's queue is full, which is
//          after 11 messages, and a loop must not hang because PID 1 does
// Rules    alive() is called by the loop that does the work, never by a separate thread, so that the watchdog detects a
//          hung loop. It passes on only a few calls per WatchdogSec
// Errors   none; does nothing unless systemd started the program
// Threads  any
#pragma once

#include <atomic>
#include <string>

#include "common/clock.hpp"
#include "common/dir.hpp"

namespace wattle {

class ServiceNotify {
 public:
  // Reads the environment.
  ServiceNotify();
  // Reports that the program can be used; `systemctl status` shows `status`. Blocks while the manager is busy.
  void ready(const std::string& status) const;
  void alive(MonoTime now);
  void stopping() const;
  // Maximum time between calls of alive(); zero: no watchdog.
  Duration every() const { return every_; }

 private:
  void send(const std::string& message, bool wait) const;

  std::string manager_;  // address of the socket; empty: none
  Fd socket_;
  Duration every_{0};
  std::atomic<std::int64_t> reported_ns_;
};

}  // namespace wattle
