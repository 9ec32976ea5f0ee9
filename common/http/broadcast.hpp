// broadcast: server-sent events: one text for everybody who listens, made once however many they are.
// Source   HTML, 9.2 (text/event-stream)
// Bounds   listeners in all and of one address (loopback has the first alone); what one of them has not read yet. Who is beyond the last is
//          let go and counted; a browser comes back by itself
// Errors   none
// Threads  any; a Subscriber hears on the thread that publishes, and must only pass it on
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
  virtual void hear(Text text) = 0;
};

struct BroadcastOptions {
  std::size_t listeners = 64;
  std::size_t per_source = 16;
  std::size_t unread_bytes = 1 << 20;  // of one, beyond what the kernel holds for it
  std::size_t send_buffer_bytes = 128 << 10;
  std::chrono::milliseconds heartbeat{
      15'000};  // nothing was said for so long: a comment is, so that a dead connection is found
};

class Broadcast {
 public:
  explicit Broadcast(BroadcastOptions options = {}) : options_(options) {}
  const BroadcastOptions& options() const { return options_; }

  // An event of that name; `data` is one line.
  void publish(std::string_view event, std::string_view data);
  std::size_t listeners() const;
  std::uint64_t joined() const;   // so far: who shows new ones everything sees them by it
  std::uint64_t dropped() const;  // who did not read

  // False: there are as many as may be.
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
