// limits: what one peer can use of a socket, with libzmq clients that our own Client would not be.
#include <doctest/doctest.h>
#include <zmq.h>

#include <memory>

#include "world.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::testing;

namespace {

// A DEALER with CURVE that announces `routing_id`.
class Announcer {
 public:
  Announcer(const std::string& endpoint, const KeyPair& key, const std::string& server_key, std::string_view routing_id)
      : context_(zmq_ctx_new()), socket_(zmq_socket(context_, ZMQ_DEALER)) {
    const int zero = 0;
    zmq_setsockopt(socket_, ZMQ_LINGER, &zero, sizeof zero);
    zmq_setsockopt(socket_, ZMQ_CURVE_SERVERKEY, server_key.c_str(), server_key.size());
    zmq_setsockopt(socket_, ZMQ_CURVE_PUBLICKEY, key.public_key.c_str(), key.public_key.size());
    zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, key.secret_key.c_str(), key.secret_key.size());
    REQUIRE(zmq_setsockopt(socket_, ZMQ_ROUTING_ID, routing_id.data(), routing_id.size()) == 0);
    REQUIRE(zmq_connect(socket_, endpoint.c_str()) == 0);
    zmq_send(socket_, "here I am", 9, ZMQ_DONTWAIT);
  }
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;
  ~Announcer() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }

 private:
  void* context_;
  void* socket_;
};

// libzmq numbers connections with a zero and four bytes, big endian.
std::string next_route(std::string route) {
  REQUIRE(route.size() == 5);
  for (std::size_t at = 4; at > 0 && ++route[at] == 0; --at) {
  }
  return route;
}

std::uint64_t count(World& world, Refused why, RefusalCounts::Who who) {
  return world.context.refusals().get(Channel::ask, why, who);
}

}  // namespace

TEST_CASE("a peer that announces the next routing id is refused, and the next peer is served") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  REQUIRE(server);
  auto first = Client::connect(world.context, world.client_options(server->endpoint(), world.shim_key));
  REQUIRE(testing::send(*first, "hello"));
  const auto incoming = testing::receive(*server);
  REQUIRE(incoming);
  const Announcer announcer(server->endpoint(), world.agent_key, world.server_key.public_key,
                            next_route(incoming->route));
  REQUIRE(eventually([&] {
    const Socket* sockets[] = {&*server};
    poll(sockets, {}, std::chrono::milliseconds(10));
    CHECK_FALSE(server->receive());
    return count(world, Refused::routing_id, Role::agent) > 0;
  }));
  auto second = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
  REQUIRE(testing::send(*second, "hello"));
  const auto received = testing::receive(*server);
  REQUIRE(received);
  CHECK(received->bytes == "hello");
}

TEST_CASE("a peer that does not read its answers is closed when too many are pending, and others continue") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  REQUIRE(server);
  auto options = world.client_options(server->endpoint(), world.agent_key);
  options.queue = 1;
  auto stalled = Client::connect(world.context, options);
  REQUIRE(testing::send(*stalled, "tell me much"));
  const auto asked = testing::receive(*server);
  REQUIRE(asked);
  const std::string much(1 << 20, 'x');
  std::uint64_t sent = 0;
  while (sent < 200 && server->send(asked->route, much) == Sent::yes) ++sent;
  CHECK(sent < 200);
  CHECK(sent > 30);
  CHECK(eventually([&] {
    CHECK_FALSE(server->receive());
    return count(world, Refused::unread, Role::agent) > 0;
  }));
  auto other = Client::connect(world.context, world.client_options(server->endpoint(), world.shim_key));
  REQUIRE(testing::send(*other, "hello"));
  const auto received = testing::receive(*server);
  REQUIRE(received);
  CHECK(received->identity.role == Role::shim);
  CHECK(server->send(received->route, much) == Sent::yes);
  CHECK(other->receive(kPatience) == much);
}

TEST_CASE("a peer that sends faster than the server reads is slowed down, and closed if it has many connections") {
  World world;
  auto options = world.server_options();
  options.channel = Channel::telemetry;
  auto server = Server::bind(world.context, options);
  REQUIRE(server);
  std::vector<Client> clients;
  for (int i = 0; i < 6; ++i) {
    auto client = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
    REQUIRE(client);
    clients.push_back(std::move(*client));
    REQUIRE(comes_up(clients.back()));
  }
  // The server does not receive. A closed connection returns, with the rest still unread.
  const std::string much((1 << 20) - 1000, 'x');
  const auto ups = [&] {
    std::uint64_t sum = 0;
    for (Client& client : clients) {
      static_cast<void>(client.send(much));
      client.link();
      sum += client.times_up();
    }
    return sum;
  };
  REQUIRE(eventually([&] {
    clients.front().wait_readable(std::chrono::milliseconds(5));
    return ups() >= 8;
  }));
  std::uint64_t received = 0;
  CHECK(eventually([&] {
    for (int i = 0; i <= 16 && server->receive(); ++i) ++received;  // more may arrive than is read
    return received > 16;
  }));
  CHECK(eventually([&] {
    server->receive();
    return world.context.refusals().get(Channel::telemetry, Refused::unread, Role::agent) >= 2;
  }));
  auto other = Client::connect(world.context, world.client_options(server->endpoint(), world.shim_key));
  REQUIRE(testing::send(*other, "hello"));
  CHECK(eventually([&] {
    const auto incoming = server->receive();
    return incoming && incoming->bytes == "hello";
  }));
}

TEST_CASE("above the limit of connections per key the oldest are closed") {
  World world;
  auto options = world.server_options();
  options.channel = Channel::telemetry;
  auto server = Server::bind(world.context, options);
  REQUIRE(server);
  std::vector<Client> clients;
  for (int i = 0; i < 10; ++i) {
    auto client = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
    REQUIRE(client);
    clients.push_back(std::move(*client));
    REQUIRE(testing::send(clients.back(), "hello"));
    REQUIRE(testing::receive(*server));
  }
  // Closed connections return and close others.
  CHECK(eventually([&] {
    server->receive();
    for (Client& client : clients) client.link();
    return world.context.refusals().get(Channel::telemetry, Refused::connections, Role::agent) >= 2 &&
           clients.front().times_up() >= 1;
  }));
}
