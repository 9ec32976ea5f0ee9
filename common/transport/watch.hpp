// watch: counts the handshakes that fail on a bound socket before anybody is asked about their key; private to this
// folder.
// Source   libzmq's socket monitor events
// Threads  the socket's owner
#pragma once

#include "common/transport/context.hpp"

namespace wattle::transport {

class Watch {
 public:
  // Before `socket` is bound. It must outlive the watch.
  static Result<Watch> open_(Context::Impl& context, const Handle& socket, Channel channel);
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&&) = delete;
  ~Watch();
  void read();

 private:
  Watch(Context::Impl& context, void* socket, Channel channel, Handle monitor)
      : context_(&context), socket_(socket), channel_(channel), monitor_(std::move(monitor)) {}
  void note(std::uint16_t event, std::uint32_t value);

  Context::Impl* context_;
  void* socket_;
  Channel channel_;
  Handle monitor_;
};

// Connects `monitor` to the events of a socket.
Result<Handle> open_monitor(Context::Impl& context, const Handle& socket, int events);
// One event; false: none waits.
bool read_event(const Handle& monitor, std::uint16_t& event, std::uint32_t& value);

}  // namespace wattle::transport
