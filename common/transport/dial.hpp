// dial: a connecting socket with the monitor that tells how its link is; private to this folder.
// Source   libzmq's socket monitor events
// Errors   as zmq_handle
// Threads  single owner
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/transport/context.hpp"

namespace wattle::transport {

class Dial {
 public:
  // `topics` are subscribed to when `type` is ZMQ_SUB.
  static Result<Dial> open_(Context::Impl& context, int type, ClientOptions options, std::vector<std::string> topics);
  Dial(Dial&&) noexcept = default;
  Dial& operator=(Dial&& other) noexcept;
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;
  ~Dial() { close(); }

  Status rebuild();
  void* socket() const { return socket_.get(); }
  Link link();
  std::string problem();
  // How often the link came up; a change means that what was sent before may be lost.
  std::uint64_t times_up();
  // Waits for the socket; returns early, with false, when the link changes.
  bool wait(short events, std::chrono::milliseconds timeout);
  const std::string& endpoint() const { return options_.endpoint; }

 private:
  Dial(Context::Impl& context, int type, ClientOptions options, std::vector<std::string> topics);
  Status build();
  void close();
  void read_monitor();
  void note(std::uint16_t event, std::uint32_t value);
  void read_keys_again();
  void try_other_key();

  Context::Impl* context_;
  int type_;
  ClientOptions options_;
  std::vector<std::string> topics_;
  Handle monitor_;
  Handle socket_;
  Link link_ = Link::connecting;
  std::string problem_;
  std::uint64_t times_up_ = 0;
  bool wrong_key_ = false;   // the handshake broke off, and the other key has not been tried
  bool tried_both_ = false;  // since the link was last up or its owner called rebuild()
};

}  // namespace wattle::transport
