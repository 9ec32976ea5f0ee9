#include "common/http/broadcast.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "common/http/client.hpp"
#include "common/http/server.hpp"
#include "tests/patience.hpp"
#include "tests/unit/http/raw_socket.hpp"

using namespace std::chrono_literals;
using wattle::Log;
using wattle::http::Broadcast;
using wattle::http::BroadcastOptions;
using wattle::http::Request;
using wattle::http::Response;
using wattle::http::Server;
using wattle::http::ServerOptions;
using wattle::http::Source;
using wattle::http::Subscriber;
using wattle::http::test::RawSocket;

namespace {

constexpr const char* kListen = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n";

struct StreamFixture {
  explicit StreamFixture(BroadcastOptions bounds = {}, ServerOptions options = {})
      : broadcast(std::make_shared<Broadcast>(bounds)) {
    wattle::http::Routes routes;
    routes["GET /stream"] = [this](const Request&) {
      Response response{200, "text/event-stream", ""};
      response.stream = broadcast;
      response.headers = {{"X-Content-Type-Options", "nosniff"}};
      return response;
    };
    routes["GET /"] = [](const Request&) { return Response{200, "text/html", "home", {{"ETag", "\"1\""}}}; };
    routes["GET /header"] = [](const Request& request) {
      const auto found = request.headers.find("accept-encoding");
      return Response{200, "text/plain", found == request.headers.end() ? std::string("none") : found->second};
    };
    auto started = Server::start(options, std::move(routes), log);
    REQUIRE(started);
    server.emplace(std::move(*started));
  }
  RawSocket listener() const {
    RawSocket socket(server->port());
    socket.send(kListen);
    CHECK(socket.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
    return socket;
  }
  Log log = Log::silent();
  std::shared_ptr<Broadcast> broadcast;
  std::optional<Server> server;
};

class Counting final : public Subscriber {
 public:
  void on_event(Text text) override { received.push_back(std::move(text)); }
  std::vector<Text> received;
};

void wait_until(const std::function<bool()>& truth) { REQUIRE(wattle::tests::wait_until(truth)); }

}  // namespace

TEST_CASE("an event is one text that all listeners share") {
  Broadcast broadcast;
  const auto first = std::make_shared<Counting>(), second = std::make_shared<Counting>();
  CHECK(broadcast.join(first, {"10.0.0.1", false}));
  CHECK(broadcast.join(second, {"10.0.0.2", false}));
  broadcast.publish("fleet", R"({"a":1})");
  REQUIRE(first->received.size() == 1);
  CHECK(*first->received[0] == "event: fleet\ndata: {\"a\":1}\n\n");
  CHECK(first->received[0] == second->received[0]);
  broadcast.leave(second.get(), false);
  broadcast.publish("fleet", "{}");
  CHECK(first->received.size() == 2);
  CHECK(second->received.size() == 1);
}

TEST_CASE("listeners are bounded in total and per address; loopback only in total; one that leaves makes room") {
  Broadcast broadcast({.listeners = 4, .per_source = 2});
  std::vector<std::shared_ptr<Counting>> all;
  const auto join = [&](const Source& from) {
    all.push_back(std::make_shared<Counting>());
    return broadcast.join(all.back(), from);
  };
  CHECK(join({"10.0.0.1", false}));
  CHECK(join({"10.0.0.1", false}));
  CHECK_FALSE(join({"10.0.0.1", false}));
  CHECK(join({"127.0.0.1", true}));
  CHECK(join({"127.0.0.1", true}));
  CHECK_FALSE(join({"127.0.0.1", true}));
  broadcast.leave(all[0].get(), false);
  CHECK(join({"127.0.0.1", true}));
  CHECK(broadcast.listeners() == 4);
  CHECK(broadcast.joined() == 5);
  CHECK(broadcast.dropped() == 0);
}

TEST_CASE("a stream begins at once, has no length, sends each event and ends when its reader leaves") {
  const StreamFixture f;
  std::optional<RawSocket> socket(f.server->port());
  socket->send(kListen);
  const std::string head = socket->read_until("\r\n\r\n");
  CHECK(head.find("Content-Type: text/event-stream\r\n") != std::string::npos);
  CHECK(head.find("X-Content-Type-Options: nosniff\r\n") != std::string::npos);
  CHECK(head.find("Content-Length") == std::string::npos);
  f.broadcast->publish("one", "1");
  f.broadcast->publish("two", "2");
  CHECK(socket->read_until("data: 2\n\n") == "event: one\ndata: 1\n\nevent: two\ndata: 2\n\n");
  socket.reset();
  wait_until([&] { return f.broadcast->listeners() == 0; });
  CHECK(f.broadcast->dropped() == 0);
}

TEST_CASE("a stream sends a comment after a time without events") {
  const StreamFixture f({.heartbeat = 20ms});
  const RawSocket socket = f.listener();
  CHECK(socket.read_until(":\n\n:\n\n") == ":\n\n:\n\n");
}

TEST_CASE("a stream above the limit gets 503 and is counted; HEAD is not a listener") {
  ServerOptions options;
  options.refusals = std::make_shared<wattle::http::RefusalCounts>();
  const StreamFixture f({.listeners = 1}, options);
  const RawSocket head(f.server->port());
  head.send("HEAD /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  CHECK(head.read_to_end().starts_with("HTTP/1.1 200 OK\r\n"));
  std::optional<RawSocket> first(f.listener());
  const RawSocket second(f.server->port());
  second.send(kListen);
  CHECK(second.read_to_end().starts_with("HTTP/1.1 503 "));
  CHECK(options.refusals->get(wattle::http::Refused::too_many) == 1);
  first.reset();
  wait_until([&] { return f.broadcast->listeners() == 0; });
  f.listener();
}

TEST_CASE("a client that does not read is dropped and counted, and the others continue") {
  // Room for more than two events, because a received one counts until the server learns that it was sent.
  const StreamFixture f({.unread_bytes = 250'000, .send_buffer_bytes = 4096});
  const RawSocket stalled = f.listener();
  const RawSocket good = f.listener();
  const std::string data(50'000, 'x');
  int said = 0;
  while (f.broadcast->dropped() == 0) {
    f.broadcast->publish("big", std::to_string(++said) + data);
    CHECK(good.read_until("x\n\n").starts_with("event: big\ndata: " + std::to_string(said)));
    REQUIRE(said < 10'000);
  }
  CHECK(f.broadcast->dropped() == 1);
  CHECK(f.broadcast->listeners() == 1);
  f.broadcast->publish("last", "1");
  CHECK(good.read_until("\n\n") == "event: last\ndata: 1\n\n");
}

TEST_CASE("a listener that sends more data ends its stream, and the server ends those that are left") {
  StreamFixture f;
  const RawSocket talker = f.listener();
  const RawSocket quiet = f.listener();
  talker.send(kListen);
  wait_until([&] { return f.broadcast->listeners() == 1; });
  f.server.reset();
  CHECK(quiet.read_to_end().empty());
  CHECK(f.broadcast->listeners() == 0);
}

TEST_CASE("the root route is not a prefix; handlers see headers by lower-case names and add their own") {
  const StreamFixture f;
  wattle::http::Client client("127.0.0.1", f.server->port());
  CHECK(client.request("GET", "/", "", wattle::tests::soon())->body == "home");
  CHECK(client.request("GET", "/below", "", wattle::tests::soon())->status == 404);
  const RawSocket socket(f.server->port());
  socket.send(
      "GET /header HTTP/1.1\r\nHost: a\r\nACCEPT-Encoding: gzip\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: "
      "close\r\n\r\n");
  const std::string answers = socket.read_to_end();
  CHECK(answers.find("\r\n\r\ngzip") != std::string::npos);
  CHECK(answers.find("ETag: \"1\"\r\n") != std::string::npos);
}
