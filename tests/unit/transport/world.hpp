// world: keys, a served context and bounded waits that the transport tests share.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/transport/sockets.hpp"
#include "tests/patience.hpp"

namespace wattle::transport::testing {

inline const std::chrono::milliseconds kPatience = tests::late();

// Calls `step` until it returns true; false after the time limit. `step` waits on sockets, so this loop is not busy.
inline bool eventually(const std::function<bool()>& step) {
  const SystemClock clock;
  const MonoTime until = clock.mono() + kPatience;
  while (clock.mono() < until)
    if (step()) return true;
  return false;
}

struct World {
  Log log = Log::silent();
  KeyPair server_key = KeyPair::generate();
  KeyPair agent_key = KeyPair::generate();
  KeyPair shim_key = KeyPair::generate();
  KeyPair stranger_key = KeyPair::generate();
  Context context;

  World() { context.serve(list(), log); }
  AllowList list() const {
    AllowList allow;
    allow.allow(agent_key.public_key, {Role::agent, "node-1"});
    allow.allow(shim_key.public_key, {Role::shim, "shim"});
    return allow;
  }
  ServerOptions server_options(const std::string& endpoint = "tcp://127.0.0.1:0") const {
    ServerOptions options;
    options.endpoint = endpoint;
    options.key = server_key;
    return options;
  }
  ClientOptions client_options(const std::string& endpoint, const KeyPair& key) const {
    ClientOptions options;
    options.endpoint = endpoint;
    options.key = key;
    options.server_key = server_key.public_key;
    return options;
  }
};

// An endpoint without a listener: the context has ended, so its listener is certainly closed.
inline std::string deserted_endpoint(const World& world) {
  Context context;
  return Server::bind(context, world.server_options())->endpoint();
}

inline std::optional<Incoming> receive(Server& server) {
  std::optional<Incoming> incoming;
  eventually([&] {
    const Socket* sockets[] = {&server};
    poll(sockets, {}, std::chrono::milliseconds(50));
    incoming = server.receive();
    return incoming.has_value();
  });
  return incoming;
}

inline bool comes_up(Client& client) {
  return eventually([&] {
    client.wait_readable(std::chrono::milliseconds(50));
    return client.link() == Link::up;
  });
}

inline bool is_refused(Client& client) {
  return eventually([&] {
    client.wait_readable(std::chrono::milliseconds(50));
    return client.link() == Link::refused;
  });
}

// Sends once the link is writable.
inline bool send(Client& client, std::string_view bytes) {
  return eventually([&] {
    client.wait_writable(std::chrono::milliseconds(50));
    return client.send(bytes).has_value();
  });
}

}  // namespace wattle::transport::testing
