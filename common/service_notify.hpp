// service_notify: tells systemd that a program serves, is alive and stops (Type=notify, WatchdogSec=).
// Source   the protocol of sd_notify(3): datagrams of VARIABLE=VALUE to $NOTIFY_SOCKET; $WATCHDOG_USEC and $WATCHDOG_PID. Not by libsystemd:
//          its sd_notify() waits while the manager's queue is full, and a loop must not hang because PID 1 does
// Rules    alive() is called by the loop that does the work, never by a thread made for it: a loop that hangs is to be seen.
//          Of its calls a few in WatchdogSec are passed on
// Errors   none: a program that systemd did not start says nothing
// Threads  any
#pragma once

#include <atomic>
#include <string>

#include "common/clock.hpp"
#include "common/dir.hpp"

namespace wattle {

class ServiceNotify {
 public:
  // What the environment asks for.
  ServiceNotify();
  // It can be used now; `status` is what `systemctl status` shows. Waits for a manager that is busy.
  void ready(const std::string& status) const;
  void alive(MonoTime now);
  void stopping() const;
  // How often alive() must be called at least; zero: nobody waits for it.
  Duration every() const { return every_; }

 private:
  void send(const std::string& message, bool wait) const;

  std::string manager_;  // the socket's address; empty: there is none
  Fd socket_;
  Duration every_{0};
  std::atomic<std::int64_t> told_ns_;
};

}  // namespace wattle
