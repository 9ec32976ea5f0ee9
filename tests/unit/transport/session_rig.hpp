// session_rig: an agent's session on a manual clock, over real sockets, with a scripted controller.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "common/transport/outbox.hpp"
#include "common/transport/session.hpp"
#include "common/wire/codec.hpp"
#include "world.hpp"

namespace wattle::transport::testing {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

inline Record at(std::uint64_t incarnation, std::uint64_t seq) {
  Record record;
  record.incarnation = incarnation;
  record.seq = seq;
  record.node.cpu_used_cores = 0.5;
  return record;
}

inline wire::Hello hello() {
  wire::Hello message;
  message.node = "node-1";
  message.incarnation = 2;
  message.max_batch = 100;
  return message;
}

inline wire::Welcome welcome(std::uint64_t max_batch, std::uint64_t credit) {
  wire::Welcome message;
  message.max_batch = max_batch;
  message.credit = credit;
  message.max_message_bytes = 1 << 20;
  message.version = 2;  // without Live, unless a test needs it
  return message;
}

// An agent's session, and a controller that sends only what the test scripts.
struct Rig {
  World world;
  ManualClock clock{mono_from_ns(1'000'000'000)};
  MemoryOutbox outbox{1000};
  std::optional<Server> server;
  std::string endpoint;
  std::optional<AgentSession> session;
  std::string route;
  std::vector<wire::Message> got;  // not yet taken

  static constexpr Pace kAtOnce{Duration{}, Duration{}, 1e6, 1e6, 1s};

  explicit Rig(wire::Hello greeting = hello(), Pace pace = kAtOnce) {
    listen("tcp://127.0.0.1:0");
    endpoint = server->endpoint();
    auto client = Client::connect(world.context, world.client_options(endpoint, world.agent_key));
    REQUIRE(client);
    session.emplace(std::move(*client), outbox, std::move(greeting), clock, world.log, 42, pace);
  }
  void listen(const std::string& where) {
    REQUIRE(eventually([&] {
      auto bound = Server::bind(world.context, world.server_options(where));
      if (bound) server.emplace(std::move(*bound));
      return bound.has_value();
    }));
  }
  void fill(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t seq = from; seq <= to; ++seq) REQUIRE(outbox.push(at(2, seq)));
  }
  void step() {
    std::vector<const Socket*> sockets{&session->socket()};
    if (server) sockets.push_back(&*server);
    poll(sockets, {}, milliseconds(10));
    session->pump();
    while (server) {
      auto incoming = server->receive();
      if (!incoming) break;
      CHECK(incoming->identity.user_id() == "agent/node-1");
      route = incoming->route;
      auto message = wire::decode(incoming->bytes);
      REQUIRE(message);
      got.push_back(std::move(*message));
    }
  }
  // Returns the next message of this kind; earlier ones are kept apart.
  template <class T>
  std::optional<T> next() {
    std::optional<T> found;
    eventually([&] {
      for (auto it = got.begin(); it != got.end() && !found; ++it)
        if (auto* message = std::get_if<T>(&*it)) {
          found = *message;
          got.erase(it);
          break;
        }
      if (!found) step();
      return found.has_value();
    });
    return found;
  }
  template <class T>
  std::vector<T> take() {
    std::vector<T> all;
    std::vector<wire::Message> rest;
    for (auto& message : got)
      if (auto* one = std::get_if<T>(&message))
        all.push_back(std::move(*one));
      else
        rest.push_back(std::move(message));
    got = std::move(rest);
    return all;
  }
  void say(const wire::Message& message) {
    REQUIRE(server->send(route, wire::encode(message)) == transport::Sent::yes);
  }
  void greet(const wire::Welcome& with) {
    REQUIRE(next<wire::Hello>());
    say(with);
    REQUIRE(eventually([&] {
      step();
      return session->status().welcomed;
    }));
  }
  // The link keeps order: when a Ping that is sent from now on has arrived, so has everything before it.
  wire::Ping settle() {
    clock.advance(1s);
    for (;;) {
      const auto ping = next<wire::Ping>();
      REQUIRE(ping);
      if (ping->mono_ns == to_ns(clock.mono())) return *ping;
    }
  }
  void answer(const wire::Ping& ping) { say(wire::Pong{ping.nonce, ping.mono_ns, 7, 8}); }
  std::vector<std::uint64_t> seqs() {
    std::vector<std::uint64_t> all;
    for (const auto& batch : take<wire::Samples>())
      for (const Record& record : batch.records) all.push_back(record.seq);
    return all;
  }
  bool until_lost() {
    return eventually([&] {
      step();
      return !session->status().welcomed;
    });
  }
};

}  // namespace wattle::transport::testing
