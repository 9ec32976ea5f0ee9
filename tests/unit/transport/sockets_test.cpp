#include "common/transport/sockets.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <array>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "common/wire/codec.hpp"
#include "tests/patience.hpp"
#include "world.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::testing;

namespace {
std::uint16_t port_of(const std::string& endpoint) {
  return parse::integer<std::uint16_t>(std::string_view(endpoint).substr(endpoint.rfind(':') + 1)).value();
}

Fd connect_raw(const std::string& endpoint) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_of(endpoint));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

// ZMTP 3.0's greeting of a client without security: signature, version, mechanism, as-server, filler.
std::string null_greeting() {
  std::string greeting("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16);
  greeting.resize(64, '\0');
  return greeting;
}

// Sends both ways, and checks the identity.
void check_talks(Server& server, Client& client, const std::string& user_id) {
  REQUIRE(testing::send(client, "hello"));
  const auto incoming = testing::receive(server);
  REQUIRE(incoming);
  CHECK(incoming->bytes == "hello");
  CHECK(incoming->identity.user_id() == user_id);
  REQUIRE(server.send(incoming->route, "welcome") == Sent::yes);
  const auto answer = client.receive(kPatience);
  REQUIRE(answer);
  CHECK(*answer == "welcome");
}
}  // namespace

TEST_CASE("an allowed key can communicate and has its configured identity") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  REQUIRE(server);
  CHECK(port_of(server->endpoint()) != 0);
  auto agent = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
  auto shim = Client::connect(world.context, world.client_options(server->endpoint(), world.shim_key));
  REQUIRE(agent);
  REQUIRE(shim);
  check_talks(*server, *agent, "agent/node-1");
  check_talks(*server, *shim, "shim/shim");
  CHECK(agent->link() == Link::up);
  CHECK(agent->link_problem() == "");
  CHECK(agent->times_up() == 1);
  CHECK(world.context.refused_handshakes() == 0);
}

TEST_CASE("an unknown key is refused and counted, and can communicate once it is allowed and its socket recreated") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  auto client = Client::connect(world.context, world.client_options(server->endpoint(), world.stranger_key));
  REQUIRE(client);
  REQUIRE(is_refused(*client));
  CHECK(world.context.refused_handshakes() == 1);
  CHECK(client->link_problem().find(world.stranger_key.public_key) != std::string::npos);
  const auto sent = client->send("hello");
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == Errc::denied);
  CHECK_FALSE(server->receive());

  AllowList more = world.list();
  more.allow(world.stranger_key.public_key, {Role::reader, "laptop"});
  world.context.set_allow_list(more);
  REQUIRE(client->rebuild());
  check_talks(*server, *client, "reader/laptop");
}

TEST_CASE("a revoked key is no longer served on its existing link") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  auto agent = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
  auto shim = Client::connect(world.context, world.client_options(server->endpoint(), world.shim_key));
  check_talks(*server, *agent, "agent/node-1");
  AllowList fewer;
  fewer.allow(world.shim_key.public_key, {Role::shim, "shim"});
  const auto revoked = world.context.set_allow_list(fewer);
  REQUIRE(revoked.size() == 1);
  CHECK(revoked[0].public_key == world.agent_key.public_key);
  CHECK(revoked[0].identity.user_id() == "agent/node-1");
  REQUIRE(testing::send(*agent, "still me"));
  std::optional<std::string> reported;
  REQUIRE(eventually([&] {
    CHECK_FALSE(server->receive());
    reported = agent->receive(std::chrono::milliseconds(10));
    return reported.has_value();
  }));
  const auto refusal = wire::decode(*reported);
  REQUIRE(refusal);
  CHECK(std::get<wire::Refusal>(*refusal).subject == "key " + world.agent_key.public_key);
  CHECK(world.context.refusals().get(Channel::ask, Refused::revoked_key) == 1);
  // Soon after the refusal the connection ends, and a new one is refused.
  REQUIRE(eventually([&] {
    CHECK_FALSE(server->receive());
    agent->wait_readable(std::chrono::milliseconds(10));
    return agent->link() == Link::refused;
  }));
  check_talks(*server, *shim, "shim/shim");
  CHECK(shim->times_up() == 1);
}

TEST_CASE("a wrong server key does not connect, and the problem names it") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  auto options = world.client_options(server->endpoint(), world.agent_key);
  options.server_key = world.stranger_key.public_key;
  auto client = Client::connect(world.context, options);
  REQUIRE(client);
  REQUIRE(is_refused(*client));
  CHECK(client->link_problem().find(options.server_key) != std::string::npos);
  CHECK(client->link_problem().find(server->endpoint()) != std::string::npos);
  CHECK_FALSE(server->receive());
}

TEST_CASE("a missing server is reported as such, and the link comes up when the server does") {
  World world;
  const std::string endpoint = deserted_endpoint(world);
  auto client = Client::connect(world.context, world.client_options(endpoint, world.agent_key));
  REQUIRE(eventually([&] {
    client->wait_readable(std::chrono::milliseconds(50));
    return client->link_problem().find("no answer from " + endpoint) != std::string::npos;
  }));
  CHECK(client->link() == Link::connecting);
  CHECK(client->send("early").error().code == Errc::unavailable);
  Result<Server> server = fail(Errc::unavailable, endpoint, "not bound yet");
  REQUIRE(eventually([&] {
    server = Server::bind(world.context, world.server_options(endpoint));
    return server.has_value();
  }));
  check_talks(*server, *client, "agent/node-1");
}

TEST_CASE("a client without CURVE and raw garbage are ignored, and the server continues") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  void* plain_context = zmq_ctx_new();
  void* plain = zmq_socket(plain_context, ZMQ_DEALER);
  const int zero = 0;
  zmq_setsockopt(plain, ZMQ_LINGER, &zero, sizeof zero);
  REQUIRE(zmq_connect(plain, server->endpoint().c_str()) == 0);
  REQUIRE(zmq_send(plain, "let me in", 9, ZMQ_DONTWAIT) == 9);
  Fd raw = connect_raw(server->endpoint());
  std::string garbage(65536, '\0');
  for (std::size_t i = 0; i < garbage.size(); ++i) garbage[i] = static_cast<char>(i * 131 % 251);
  REQUIRE(::send(raw.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL) > 0);
  Fd http = connect_raw(server->endpoint());
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  REQUIRE(::send(http.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0);

  // Either end of a real connection may detect the mismatch first; with a bare greeting it is the server.
  Fd greeter = connect_raw(server->endpoint());
  const std::string greeting = null_greeting();
  REQUIRE(::send(greeter.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL) == 64);
  {
    Fd quitter = connect_raw(server->endpoint());
    REQUIRE(::send(quitter.get(), greeting.data(), 12, MSG_NOSIGNAL) == 12);
  }

  auto agent = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
  check_talks(*server, *agent, "agent/node-1");
  CHECK_FALSE(server->receive());
  // The server closes the garbage's connection: its reading side ends.
  std::array<char, 256> answer{};
  const timeval patience{std::chrono::duration_cast<std::chrono::seconds>(kPatience).count(), 0};
  ::setsockopt(raw.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ssize_t n = 0;
  while ((n = ::recv(raw.get(), answer.data(), answer.size(), 0)) > 0) {
  }
  CHECK((n == 0 || errno == ECONNRESET));
  const RefusalCounts& refusals = world.context.refusals();
  CHECK(eventually([&] {
    const Socket* sockets[] = {&*server};
    poll(sockets, {}, std::chrono::milliseconds(10));
    CHECK_FALSE(server->receive());
    return refusals.get(Channel::ask, Refused::no_key) > 0 && refusals.get(Channel::ask, Refused::handshake) > 0;
  }));
  zmq_close(plain);
  zmq_ctx_term(plain_context);
}

TEST_CASE("a message above the limit drops only its sender") {
  World world;
  auto options = world.server_options();
  options.max_message_bytes = 1000;
  auto server = Server::bind(world.context, options);
  auto agent = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
  auto shim = Client::connect(world.context, world.client_options(server->endpoint(), world.shim_key));
  check_talks(*server, *agent, "agent/node-1");
  check_talks(*server, *shim, "shim/shim");
  REQUIRE(testing::send(*agent, std::string(5000, 'x')));
  REQUIRE(eventually([&] {
    agent->wait_readable(std::chrono::milliseconds(50));
    return agent->times_up() > 1;
  }));
  check_talks(*server, *shim, "shim/shim");
  CHECK(shim->times_up() == 1);
  check_talks(*server, *agent, "agent/node-1");
}

TEST_CASE("sending to a peer that is gone reports that") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  std::string route;
  {
    auto agent = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
    REQUIRE(testing::send(*agent, "hello"));
    route = testing::receive(*server)->route;
  }
  CHECK(eventually([&] {
    const Socket* sockets[] = {&*server};
    poll(sockets, {}, std::chrono::milliseconds(10));
    return server->send(route, "anybody there?") != Sent::yes;
  }));
  CHECK(server->send("no such route", "x") == Sent::gone);
}

TEST_CASE("a context that serves no peer accepts none") {
  World world;
  Context unserved;
  auto server = Server::bind(unserved, world.server_options());
  REQUIRE(server);
  auto agent = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
  CHECK(is_refused(*agent));
  CHECK_FALSE(server->receive());
}

TEST_CASE("a subscriber gets the topics that it names") {
  World world;
  auto publisher = Publisher::bind(world.context, world.server_options());
  REQUIRE(publisher);
  const std::vector<std::string> topics{std::string(kTopicBoard)};
  auto subscriber =
      Subscriber::connect(world.context, world.client_options(publisher->endpoint(), world.shim_key), topics);
  REQUIRE(subscriber);
  bool subscribed = false;
  REQUIRE(eventually([&] {
    const Socket* sockets[] = {&*publisher};
    poll(sockets, {}, std::chrono::milliseconds(50));
    subscribed = subscribed || publisher->drain();
    return subscribed;
  }));
  CHECK_FALSE(publisher->drain());
  CHECK(publisher->wanted(kTopicBoard));
  CHECK_FALSE(publisher->wanted(kTopicState));
  publisher->publish(kTopicState, "not asked for");
  publisher->publish(kTopicBoard, "the board");
  const auto got = subscriber->receive(kPatience);
  REQUIRE(got);
  CHECK(got->topic == "board");
  CHECK(got->bytes == "the board");
  CHECK_FALSE(subscriber->receive());
  CHECK(subscriber->link() == Link::up);
  subscriber = fail(Errc::unavailable, "subscriber", "has gone");
  CHECK(eventually([&] {
    CHECK_FALSE(publisher->drain());
    return !publisher->wanted(kTopicBoard);
  }));
}

TEST_CASE("a subscriber with a key that is not allowed gets a refusal") {
  World world;
  auto publisher = Publisher::bind(world.context, world.server_options());
  const std::vector<std::string> topics{std::string(kTopicBoard)};
  auto subscriber =
      Subscriber::connect(world.context, world.client_options(publisher->endpoint(), world.stranger_key), topics);
  CHECK(eventually([&] {
    CHECK_FALSE(subscriber->receive(std::chrono::milliseconds(20)));
    return subscriber->link() == Link::refused;
  }));
}

TEST_CASE("poll returns flags of sockets first, then of descriptors") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const Fd out(ends[0]);
  const Fd in(ends[1]);
  const Socket* sockets[] = {&*server};
  const int fds[] = {out.get()};
  CHECK(poll(sockets, fds, std::chrono::milliseconds(0)) == std::vector<bool>{false, false});
  REQUIRE(::write(in.get(), "x", 1) == 1);
  CHECK(poll(sockets, fds, std::chrono::milliseconds(1000)) == std::vector<bool>{false, true});
}

TEST_CASE("errors of endpoints and keys name them") {
  World world;
  auto first = Server::bind(world.context, world.server_options());
  const auto taken = Server::bind(world.context, world.server_options(first->endpoint()));
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == Errc::conflict);
  CHECK(taken.error().subject == first->endpoint());
  const auto nonsense = Server::bind(world.context, world.server_options("over there"));
  REQUIRE_FALSE(nonsense);
  CHECK(nonsense.error().code == Errc::malformed);
  CHECK(nonsense.error().subject == "over there");
  auto options = world.client_options("tcp://127.0.0.1:1", world.agent_key);
  options.server_key = "short";
  const auto keyless = Client::connect(world.context, options);
  REQUIRE_FALSE(keyless);
  CHECK(keyless.error().message().find("server's public key") != std::string::npos);
}

TEST_CASE("a subscriber with a revoked key stays disconnected, and others keep their link") {
  World world;
  auto publisher = Publisher::bind(world.context, world.server_options());
  REQUIRE(publisher);
  AllowList list = world.list();
  list.allow(world.stranger_key.public_key, {Role::reader, "laptop"});
  world.context.set_allow_list(list);
  const std::vector<std::string> topics{std::string(kTopicBoard)};
  const std::string endpoint = publisher->endpoint();
  auto stays = Subscriber::connect(world.context, world.client_options(endpoint, world.shim_key), topics);
  auto goes = Subscriber::connect(world.context, world.client_options(endpoint, world.stranger_key), topics);
  bool one = false, other = false;
  const auto beat = [&](const std::string& text) {
    publisher->drain();
    publisher->publish(kTopicBoard, text);
    const auto first = stays->receive(std::chrono::milliseconds(10));
    const auto second = goes->receive(std::chrono::milliseconds(10));
    one = one || (first && first->bytes == text);
    other = other || (second && second->bytes == text);
  };
  REQUIRE(eventually([&] {
    beat("before");
    return one && other;
  }));
  world.context.set_allow_list(world.list());
  one = other = false;
  REQUIRE(eventually([&] {
    beat("meanwhile");
    return goes->link() == Link::refused;
  }));
  other = false;
  REQUIRE(eventually([&] {
    beat("after");
    return one;
  }));
  CHECK_FALSE(other);
  CHECK(stays->times_up() == 1);
}

TEST_CASE("a wildcard endpoint accepts peers of both families") {
  for (const char* any : {"tcp://*:0", "tcp://[::]:0"}) {
    World world;
    auto server = Server::bind(world.context, world.server_options(any));
    REQUIRE(server);
    const std::string port = std::to_string(port_of(server->endpoint()));
    auto four = Client::connect(world.context, world.client_options("tcp://127.0.0.1:" + port, world.agent_key));
    REQUIRE(four);
    check_talks(*server, *four, "agent/node-1");
    auto named = Client::connect(world.context, world.client_options("tcp://localhost:" + port, world.shim_key));
    REQUIRE(named);
    check_talks(*server, *named, "shim/shim");
    if (server->endpoint().find('[') == std::string::npos) continue;  // the kernel has no IPv6
    auto six = Client::connect(world.context, world.client_options("tcp://[::1]:" + port, world.agent_key));
    REQUIRE(six);
    check_talks(*server, *six, "agent/node-1");
  }
}

TEST_CASE("a name without an address is a problem of the link, not an error of the socket") {
  World world;
  auto client = Client::connect(world.context, world.client_options("tcp://nowhere.invalid:7460", world.agent_key));
  REQUIRE(client);
  CHECK(eventually([&] {
    client->wait_readable(std::chrono::milliseconds(50));
    return client->link_problem().find("nowhere.invalid") != std::string::npos;
  }));
  CHECK(client->link() == Link::connecting);
  CHECK_FALSE(client->send("lost"));
}
