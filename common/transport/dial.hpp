// dial: a connecting socket and the monitor that reports the state of its link; private to this folder.
// Source   libzmq's socket monitor events; addresses of a name from the context's resolver
// Errors   as zmq_socket
// Threads  single owner
//
// libzmq connects only to the first address of a name. A Dial resolves the name itself and, if an address takes no
// connection, tries the next one of either family. After the last address it waits, longer each time, and resolves the
// name again. link(), problem(), times_up() and wait() do this work: call one of them regularly.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/transport/context.hpp"

namespace wattle::transport {

class Dial {
 public:
  // `topics` are subscribed to if `type` is sub.
  static Result<Dial> open_(Context::Impl& context, zmq::socket_type type, ClientOptions options,
                            std::vector<std::string> topics);
  Dial(Dial&&) noexcept = default;
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;
  ~Dial() { close(); }

  Status rebuild();
  zmq::socket_t& socket() { return socket_; }
  Link link();
  std::string problem();
  // Number of links so far. After a change, messages sent before may be lost.
  std::uint64_t times_up();
  // Waits for the socket; returns false early if the link changes.
  bool wait(short events, std::chrono::milliseconds timeout);
  // Calls `take` until it returns a value or the timeout expires.
  template <class Take>
  auto take_within(std::chrono::milliseconds timeout, Take take);
  const std::string& endpoint() const { return options_.endpoint; }

 private:
  Dial(Context::Impl& context, zmq::socket_type type, ClientOptions options, std::vector<std::string> topics);
  Status build();
  Status connect();
  void build_again();
  void close();
  void read_monitor();
  void note(std::uint16_t event, std::uint32_t value);
  void follow_name();
  void attempt_failed(const std::string& why);
  void read_keys_again();
  void try_other_key();

  Context::Impl* context_;
  zmq::socket_type type_;
  ClientOptions options_;
  std::vector<std::string> topics_;
  zmq::socket_t monitor_;
  zmq::socket_t socket_;
  std::optional<HostPort> name_;  // unset: the endpoint has a numeric address
  Resolver::Answer answer_;       // last one that was used
  std::vector<NetAddress> addresses_;
  std::size_t at_ = 0;         // index of the address in use
  std::size_t tried_ = 0;      // addresses of this round that failed
  int rounds_ = 0;             // failed rounds since the link was last up
  bool next_address_ = false;  // try it now
  std::string connected_to_;   // empty: no address known yet
  Link link_ = Link::connecting;
  std::string problem_;
  std::uint64_t times_up_ = 0;
  bool wrong_key_ = false;   // the handshake failed, and the other key has not been tried
  bool tried_both_ = false;  // since the link was last up or rebuild() was called
};

template <class Take>
auto Dial::take_within(std::chrono::milliseconds timeout, Take take) {
  const SystemClock clock;
  const MonoTime until = clock.mono() + timeout;
  for (;;) {
    auto taken = take();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.mono());
    if (taken || left.count() <= 0) return taken;
    read_monitor();
    wait(ZMQ_POLLIN, left);
  }
}

}  // namespace wattle::transport
