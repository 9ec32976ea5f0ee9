#include "common/http/server.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "common/http/client.hpp"
#include "common/parse.hpp"
#include "tests/patience.hpp"
#include "tests/unit/http/raw_socket.hpp"
#include "tests/unit/http/server_fixture.hpp"

using namespace std::chrono_literals;
using wattle::Errc;
using wattle::Log;
using wattle::http::Client;
using wattle::http::Request;
using wattle::http::Response;
using wattle::http::Routes;
using wattle::http::Server;
using wattle::http::ServerOptions;
using wattle::http::test::first_line;
using wattle::http::test::Fixture;
using wattle::http::test::RawSocket;

namespace {
// Head and body of the first answer; 0 without Content-Length.
std::size_t bytes_of_first(const std::string& answers) {
  constexpr std::string_view kEnd = "\r\n\r\n", kLength = "\r\nContent-Length: ";
  const std::size_t end = answers.find(kEnd), length = answers.find(kLength);
  if (end == std::string::npos || length >= end) return 0;
  const std::size_t from = length + kLength.size();
  const auto body = wattle::parse::u64(answers.substr(from, answers.find('\r', from) - from));
  return body ? end + kEnd.size() + *body : 0;
}
}  // namespace

TEST_CASE("a route gets the decoded path and query") {
  const Fixture f;
  auto client = f.client();
  CHECK(client.request("GET", "/hello?name=a%20b", "", wattle::tests::soon())->body == "hello a b");
  CHECK(client.request("GET", "/tree/a%2Fb/c", "", wattle::tests::soon())->body == "/tree/a/b/c");
  CHECK(client.request("POST", "/echo", "body", wattle::tests::soon())->body == "body");
}

TEST_CASE("garbage bytes are answered 400 and the server continues") {
  const Fixture f;
  for (const std::string& garbage :
       {std::string("\x00\xff\x16\x03garbage\r\n\r\n", 15), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\n\r\n"), std::string("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n")}) {
    const RawSocket socket(f.server->port());
    socket.send(garbage);
    CHECK(first_line(socket.read_to_end()) == "HTTP/1.1 400 Bad Request");
    CHECK(f.lives());
  }
}

TEST_CASE("a client that disconnects during a request does not harm others") {
  const Fixture f;
  for (const char* part :
       {"", "G", "POST /echo HTTP/1.1\r\n", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc"}) {
    RawSocket(f.server->port()).send(part);
    CHECK(f.lives());
  }
}

TEST_CASE("large bodies share a bounded room: the one that takes longest gets 503, those that arrive whole 200") {
  ServerOptions options;
  options.max_bodies_bytes = 500'000;
  options.request_timeout = 300s;
  options.refusals = std::make_shared<wattle::http::RefusalCounts>();
  const Fixture f(options);
  std::vector<RawSocket> slow;
  for (int i = 0; i < 5; ++i) {
    slow.emplace_back(f.server->port());
    slow.back().send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 400000\r\n\r\n");
    CHECK(first_line(slow.back().read_until("\r\n\r\n")) == "HTTP/1.1 100 Continue");
    slow.back().send(std::string(250'000, 'x'));
  }
  // 250,000 bytes of a slow body and 400,000 others do not fit together, in any order.
  int whole = 0;
  REQUIRE(wattle::tests::wait_until([&] {
    ++whole;
    const auto answer = f.client().request("POST", "/echo", std::string(400'000, 'y'), wattle::tests::late());
    CHECK(answer->body.size() == 400'000);
    return whole >= 10 && options.refusals->get(wattle::http::Refused::too_many) >= slow.size();
  }));
  CHECK(options.refusals->get(wattle::http::Refused::too_many) == slow.size());
  for (const RawSocket& each : slow) {
    const std::string answer = each.read_to_end();
    CHECK(first_line(answer) == "HTTP/1.1 503 Service Unavailable");
    CHECK(answer.find("Connection: close\r\n") != std::string::npos);
  }
}

TEST_CASE("an unknown path or method is counted, and its text stays on one line of the log") {
  ServerOptions options;
  options.refusals = std::make_shared<wattle::http::RefusalCounts>();
  const Fixture f(options);
  CHECK(f.client().request("POST", "/prioritise%0aforged", "", wattle::tests::soon())->status == 404);
  CHECK(f.client().request("PUT", "/echo", "", wattle::tests::soon())->status == 405);
  CHECK(options.refusals->get(wattle::http::Refused::path) == 2);
}

TEST_CASE("turns are reported by the workers themselves, so not while all of them are busy") {
  std::atomic<int> turns = 0;
  std::atomic<bool> busy = false, go_on = false;
  ServerOptions options;
  options.threads = 1;
  options.turns = [&] { ++turns; };
  const wattle::Log log = wattle::Log::silent();
  auto server = wattle::http::Server::start(options,
                                            {{"GET /wait",
                                              [&](const wattle::http::Request&) {
                                                busy = true;
                                                wattle::tests::wait_until([&] { return go_on.load(); });
                                                return wattle::http::Response{200, "text/plain", "ok\n"};
                                              }}},
                                            log);
  REQUIRE(server);
  REQUIRE(wattle::tests::wait_until([&] { return turns >= 2; }));
  std::thread waiting([port = server->port()] {
    CHECK(wattle::http::Client("127.0.0.1", port).request("GET", "/wait", "", wattle::tests::late())->status == 200);
  });
  REQUIRE(wattle::tests::wait_until([&] { return busy.load(); }));
  const int before = turns;
  wattle::tests::pace(1200ms);  // longer than the loop's own turn of a second
  CHECK(turns == before);
  go_on = true;
  REQUIRE(wattle::tests::wait_until([&] { return turns >= before + 2; }));
  waiting.join();
}

TEST_CASE("an unknown path is 404, and a wrong method 405 with the right ones") {
  const Fixture f;
  auto client = f.client();
  CHECK(client.request("GET", "/nothing", "", wattle::tests::soon())->status == 404);
  CHECK(client.request("GET", "/nothing", "", wattle::tests::soon())->body == "not found: /nothing\n");
  CHECK(client.request("GET", "/echo", "", wattle::tests::soon())->status == 405);
  CHECK(client.request("POST", "/hello", "x", wattle::tests::soon())->status == 405);
  const RawSocket socket(f.server->port());
  socket.send("DELETE /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  CHECK(socket.read_to_end().find("Allow: POST\r\n") != std::string::npos);
}

TEST_CASE("a handler that throws gives a 500 without internals") {
  const Fixture f;
  auto client = f.client();
  const auto answer = client.request("GET", "/throws", "", wattle::tests::soon());
  CHECK(answer->status == 500);
  CHECK(answer->body.find("on purpose") == std::string::npos);
  CHECK(client.request("GET", "/hello", "", wattle::tests::soon())->status == 200);
}

TEST_CASE("HEAD of a GET route gives its length without its body") {
  const Fixture f;
  const RawSocket socket(f.server->port());
  socket.send("HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const auto answer = socket.read_to_end();
  CHECK(first_line(answer) == "HTTP/1.1 200 OK");
  CHECK(answer.find("Content-Length: 9\r\n") != std::string::npos);
  CHECK(answer.ends_with("\r\n\r\n"));
}

TEST_CASE("pipelined requests are answered in order on one connection") {
  const Fixture f;
  const RawSocket socket(f.server->port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += "GET /hello?name=n" + std::to_string(i) + "! HTTP/1.1\r\nHost: a\r\n\r\n";
  socket.send(all);
  const auto answers = socket.read_until("!", 20);
  std::size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = answers.find("hello n" + std::to_string(i) + "!", at);
    REQUIRE(at != std::string::npos);
  }
}

TEST_CASE("several threads are served at the same time") {
  const Fixture f;
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      auto client = f.client();
      for (int i = 0; i < 50; ++i) {
        const std::string body = std::to_string(t) + "/" + std::to_string(i);
        const auto answer = client.request("POST", "/echo", body, wattle::tests::soon());
        if (answer && answer->body == body) ++good;
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(good == 400);
}

TEST_CASE("request smuggling is impossible: a message with an ambiguous end is refused and the connection closed") {
  const Fixture f;
  const std::string hidden = "GET /hello?name=hidden HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string start = "POST /echo HTTP/1.1\r\n", host = "Host: a\r\n", chunk = "5\r\nhello\r\n0\r\n\r\n";
  for (const std::string& request : {
           start + host + "Transfer-Encoding: xchunked\r\n\r\n" + hidden,
           start + host + "Transfer-Encoding: chunked, identity\r\n\r\n" + hidden,
           start + host + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk + hidden,
           start + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunk + hidden,
           start + host + "Transfer-Encoding:\r\n chunked\r\n\r\n" + chunk + hidden,
           start + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + chunk + hidden,
           start + host + "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde" + hidden,
           "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + hidden,
           start + host + "TE: xchunked\r\n\r\n" + hidden,
           start + host + "X: a\r\n b\r\n\r\n" + hidden,
           start + host + "X: a\r\n\tContent-Length: 5\r\n\r\n" + hidden,
           start + host + "X: a\nContent-Length: 50\r\n\r\n" + hidden,
           start + host + "X: a\rb\r\n\r\n" + hidden,
           start + host + host + "\r\n" + hidden,
           start + "\r\n" + hidden,
           start + "Content-Length: 0\r\n\r\n" + hidden,
       }) {
    CAPTURE(request);
    const RawSocket socket(f.server->port());
    socket.send(request);
    const std::string answers = socket.read_to_end();
    CHECK(first_line(answers).ends_with(" 400 Bad Request"));
    CHECK(bytes_of_first(answers) == answers.size());  // the only one, and then the end
  }
  // Valid forms still work: HTTP/1.0 without Host, chunked in any letter case, a header in parts.
  const RawSocket old(f.server->port());
  old.send("GET /hello HTTP/1.0\r\n\r\n");
  CHECK(old.read_to_end().ends_with("hello you"));
  const RawSocket chunked(f.server->port());
  for (const char byte : start + host + "TE: trailers\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunk)
    chunked.send(std::string(1, byte));
  CHECK(chunked.read_until("hello").ends_with("hello"));
}

TEST_CASE("stopping delivers the answer in progress and closes the rest") {
  std::promise<void> entered;
  std::promise<void> release;
  Routes routes;
  routes["GET /slow"] = [&](const Request&) {
    entered.set_value();
    release.get_future().wait();
    return Response{200, "text/plain", "done"};
  };
  const Log log = Log::silent();
  auto started = Server::start({}, std::move(routes), log);
  REQUIRE(started);
  std::optional<Server> server(std::move(*started));
  const RawSocket idle(server->port());
  auto answer = std::async(std::launch::async, [port = server->port()] {
    return Client("127.0.0.1", port).request("GET", "/slow", "", wattle::tests::soon());
  });
  entered.get_future().wait();
  auto stopped = std::async(std::launch::async, [&] { server.reset(); });
  release.set_value();
  stopped.wait();
  CHECK(idle.read_to_end().empty());
  const auto got = answer.get();
  REQUIRE(got);
  CHECK(got->body == "done");
}

TEST_CASE("an address in use and an invalid address are errors that name it") {
  const Fixture f;
  const Log log = Log::silent();
  const auto taken = Server::start({.port = f.server->port()}, {}, log);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == Errc::conflict);
  CHECK(taken.error().subject == "127.0.0.1:" + std::to_string(f.server->port()));
  const auto wrong = Server::start({.address = "here"}, {}, log);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == Errc::malformed);
}
