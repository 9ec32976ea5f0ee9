// watch: events of a bound socket: handshakes that fail before their key is checked, connections ended for exceeding a
// limit, connections refused for lack of descriptors. Also ends connections of revoked keys. Private to this folder.
// Source   libzmq's socket monitor events
// Threads  the socket's owner
#pragma once

#include "common/transport/context.hpp"

namespace wattle::transport {

class Watch {
 public:
  // Call before `socket` is bound. The socket must outlive the watch.
  static Result<Watch> open_(Context::Impl& context, zmq::socket_t& socket, Channel channel);
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&&) = delete;
  ~Watch();
  void read();
  // May be called at any rate; works once per second.
  void end_revoked();

 private:
  Watch(Context::Impl& context, void* socket, Channel channel, zmq::socket_t monitor)
      : context_(&context), socket_(zmq::from_handle, socket), channel_(channel), monitor_(std::move(monitor)) {}
  void note(std::uint16_t event, std::uint32_t value, const std::string& where);

  struct Ending {
    std::string key;
    MonoTime from, until;
  };

  Context::Impl* context_;
  zmq::socket_ref socket_;
  Channel channel_;
  zmq::socket_t monitor_;
  SystemClock clock_;
  MonoTime looked_{};
  std::size_t revoked_seen_ = 0;
  std::vector<Ending> endings_;
};

// Connects `monitor` to the events of a socket.
Result<zmq::socket_t> open_monitor(Context::Impl& context, zmq::socket_t& socket, int events);
// Reads one event; false if none waits. `where` is an endpoint, or for ZMQ_WATTLE_* a public key.
bool read_event(zmq::socket_t& monitor, std::uint16_t& event, std::uint32_t& value, std::string& where);

}  // namespace wattle::transport
