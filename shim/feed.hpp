// feed: follows the controller's feed on its own thread and keeps the board up to date.
// Suspend  a subscription that this thread could not read for kClockStopped is rebuilt, because the boards that wait in
//          it may be older than they appear; the board is fresh again once the controller publishes the next one
// Errors   at start: malformed endpoint or key; later the subscriber reconnects forever, and a refused one is rebuilt
// Threads  its own, joined by the destructor
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/pulse.hpp"
#include "common/transport/sockets.hpp"
#include "shim/board.hpp"

namespace wattle::shim {

class Feed {
 public:
  static constexpr Duration kClockStopped = std::chrono::seconds(5);
  // The referenced objects must outlive this object.
  static Result<std::unique_ptr<Feed>> start(transport::Context& context, const transport::ClientOptions& options,
                                             BoardKeeper& board, const Clock& clock, const Log& log);
  ~Feed();
  const Pulse& pulse() const { return pulse_; }

 private:
  Feed(transport::Subscriber subscriber, BoardKeeper& board, const Clock& clock, const Log& log)
      : subscriber_(std::move(subscriber)), board_(board), clock_(clock), log_(log), pulse_(clock.mono()) {}
  void listen();
  void rebuild_when_refused();
  void rebuild();

  transport::Subscriber subscriber_;  // belongs to the thread
  BoardKeeper& board_;
  const Clock& clock_;
  const Log& log_;
  Pulse pulse_;
  MonoTime rebuilt_{};
  bool garbage_logged_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace wattle::shim
