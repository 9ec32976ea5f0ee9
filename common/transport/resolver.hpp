// resolver: resolves host names without blocking, for the sockets of one context.
// Source   resolve_host (common/net_address), on a thread that lives only during the lookup
// Gives    the latest answer for each name. A failed lookup is repeated after 1 s, 2 s, 4 s, then every 8 s
// Errors   an answer without addresses has the reason
// Threads  any
//
// getaddrinfo cannot be cancelled: a lookup that is running when the resolver is destroyed continues, and keeps its
// state alive.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/net_address.hpp"

namespace wattle::transport {

struct Addresses {
  std::vector<NetAddress> all;
  std::string problem;  // only if there are no addresses
};

class Resolver {
 public:
  using Answer = std::shared_ptr<const Addresses>;

  Resolver();
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // The latest answer; null if there is none yet. The first call for a name starts a lookup.
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
