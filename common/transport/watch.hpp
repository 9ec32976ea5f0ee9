// watch: what libzmq tells of a bound socket: handshakes that fail before anybody is asked about their key, and peers
// whose connection was ended for holding too much; and the end of connections whose key was revoked. Private to this
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
  // As often as wanted: does its work once a second.
  void end_revoked();

 private:
  Watch(Context::Impl& context, void* socket, Channel channel, Handle monitor)
      : context_(&context), socket_(socket), channel_(channel), monitor_(std::move(monitor)) {}
  void note(std::uint16_t event, std::uint32_t value, const std::string& where);

  struct Ending {
    std::string key;
    MonoTime from, until;
  };

  Context::Impl* context_;
  void* socket_;
  Channel channel_;
  Handle monitor_;
  SystemClock clock_;
  MonoTime looked_{};
  std::size_t revoked_seen_ = 0;
  std::vector<Ending> endings_;
};

// Connects `monitor` to the events of a socket.
Result<Handle> open_monitor(Context::Impl& context, const Handle& socket, int events);
// One event; false: none waits. `where`: an endpoint, or for ZMQ_WATTLE_* a public key.
bool read_event(const Handle& monitor, std::uint16_t& event, std::uint32_t& value, std::string& where);

}  // namespace wattle::transport
