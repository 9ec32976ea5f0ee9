// zmq_handle: libzmq's C interface behind owned handles; private to this folder.
// Source   libzmq 4.3
// Errors   errno of libzmq as an Error that names the endpoint or the option
// Threads  a handle and its frames belong to one thread at a time
#pragma once

#include <zmq.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "common/result.hpp"

namespace wattle::transport {

class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : socket_(other.socket_) { other.socket_ = nullptr; }
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }
  static Result<Handle> open_(void* context, int type);
  void* get() const { return socket_; }
  void close();

 private:
  explicit Handle(void* socket) : socket_(socket) {}
  void* socket_ = nullptr;
};

struct Option {
  int id;
  std::string_view name;
  std::variant<int, std::int64_t, std::string> value;
};
Status set_options(const Handle& handle, std::initializer_list<Option> options);

// What every socket of ours has: no lingering, a bounded handshake, heartbeats that reap dead links.
Status set_common_options(const Handle& handle, const std::string& endpoint, std::int64_t max_message_bytes, int queue);

Status bind_to(const Handle& handle, const std::string& endpoint);
Status connect_to(const Handle& handle, const std::string& endpoint);
// With the port that the system picked.
std::string last_endpoint(const Handle& handle);

// One frame of a message.
class Frame {
 public:
  Frame() { zmq_msg_init(&message_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() { zmq_msg_close(&message_); }
  // Does not wait; false: nothing there.
  bool receive(void* socket);
  bool more() const { return zmq_msg_more(&message_) != 0; }
  std::string_view bytes() const {
    return {static_cast<const char*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }
  // Metadata that the handshake left on the connection; empty when absent.
  std::string_view property(const char* name) const;

 private:
  mutable zmq_msg_t message_;
};

// Throws away the frames that remain of a message.
void skip_rest(void* socket, const Frame& last);

// Does not wait; false: no link, no such peer, or its queue is full.
bool send_frame(void* socket, std::string_view bytes, bool more);

// Waits for the socket to be ready for `events` (ZMQ_POLLIN, ZMQ_POLLOUT), or `other` to be readable; signals do not
// end the wait. True if the socket is ready.
bool wait_for(void* socket, short events, void* other, std::chrono::milliseconds timeout);

}  // namespace wattle::transport
