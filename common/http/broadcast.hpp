// broadcast: server-sent events. Builds each text once and sends it to all listeners.
// Source   HTML, 9.2 (text/event-stream)
// Bounds   number of listeners in total and per address (loopback counts only towards the total), and unread bytes per
//          listener. A listener with too many unread bytes is dropped and counted; browsers reconnect by themselves
// Errors   none
// Threads  any; Subscriber::hear() runs on the publishing thread and must only hand the text on
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/http/crowd.hpp"

namespace wattle::http {

class Subscriber {
 public:
  using Text = std::shared_ptr<const std::string>;
  virtual ~Subscriber() = default;
  virtual void on_event(Text text) = 0;
};

struct BroadcastOptions {
  std::size_t listeners = 64;
  std::size_t per_source = 16;
  std::size_t unread_bytes = 1 << 20;  // per listener, beyond the kernel's buffer
  std::size_t send_buffer_bytes = 128 << 10;
  std::chrono::milliseconds heartbeat{
      15'000};  // sends a comment after this time without an event, so that a dead connection is detected
};

class Broadcast {
 public:
  explicit Broadcast(BroadcastOptions options = {}) : options_(options) {}
  const BroadcastOptions& options() const { return options_; }

  // Publishes an event of that name; `data` is one line.
  void publish(std::string_view event, std::string_view data);
  std::size_t listeners() const;
  std::uint64_t joined() const;   // total so far; publishers compare it to send new listeners the whole state
  std::uint64_t dropped() const;  // listeners that did not read

  // Returns false if the number of listeners is at its limit.
  bool join(const std::shared_ptr<Subscriber>& who, const Source& from);
  void leave(const Subscriber* who, bool dropped);

 private:
  struct Seat {
    std::weak_ptr<Subscriber> who;
    Source from;
  };
  const BroadcastOptions options_;
  mutable std::mutex mutex_;
  std::map<const Subscriber*, Seat> seats_;
  std::uint64_t joined_ = 0, dropped_ = 0;
};

}  // namespace wattle::http
