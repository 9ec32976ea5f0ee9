// resolver: host names to addresses without waiting for them, for the sockets of one context.
// Source   resolve_host (common/net_address), on a thread that lives only while a name is looked up
// Gives    the latest answer for each name. A lookup that failed is repeated after 1 s, 2 s, 4 s, then every 8 s
// Errors   an answer without addresses says why there are none
// Threads  any
//
// getaddrinfo cannot be cancelled: a lookup that still waits when the resolver goes is left behind with what it needs.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/net_address.hpp"

namespace wattle::transport {

struct Addresses {
  std::vector<NetAddress> all;
  std::string problem;  // when there are none
};

class Resolver {
 public:
  using Answer = std::shared_ptr<const Addresses>;

  Resolver();
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // The latest answer; null: none yet. The first call for a name starts a lookup.
  Answer latest(const HostPort& name);
  // Looks the name up again, at most once a second.
  void refresh(const HostPort& name);
  // Waits for an answer other than `known`; true if there is one.
  bool wait(const HostPort& name, const Answer& known, std::chrono::milliseconds timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace wattle::transport
