// standby: a second process that shares the shim's listening socket, and answers kube-scheduler neutrally while the
// shim hangs. Otherwise each pod would wait for the extender's httpTimeout.
// Rules    it accepts new connections if beat() has not been called for kHangsAfter, until the next beat. Each gets one
//          answer (standby_process.hpp) and is closed; a request other than kube-scheduler's gets 503. It ends with the
//          shim. Connections that the shim has accepted wait for the shim
// Bounds   one connection at a time, each for at most kExchangeWithin
// Errors   at start: those of socketpair(2) and fork(2)
// Threads  start() before any thread starts; beat() from any
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <utility>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::shim {

inline constexpr Duration kHangsAfter = std::chrono::milliseconds(400);
inline constexpr Duration kExchangeWithin = std::chrono::milliseconds(200);

class Standby {
 public:
  // The log must outlive this object.
  static Result<std::unique_ptr<Standby>> start(const Log& log);
  ~Standby();
  // Shares a listening socket of HTTP without TLS. Call once.
  void share(int listener);
  // Reports that the shim can answer.
  void beat();
  // Ends the process and waits for its end.
  void end();

 private:
  Standby(Fd link, pid_t process, const Log& log) : link_(std::move(link)), process_(process), log_(log) {}
  const Fd link_;  // each message is a beat; the first carries the listening socket
  pid_t process_;  // 0: ended
  const Log& log_;
  std::atomic<bool> lost_ = false;
};

}  // namespace wattle::shim
