// line_stream: whole lines for any packets, every way to end, and TLS that trusts only the right server.
#include "common/http/line_stream.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <future>
#include <thread>

#include "common/http/server.hpp"
#include "tests/patience.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/http/certificates.hpp"

using namespace std::chrono_literals;
using namespace wattle::http;
using namespace wattle::http::test;
using wattle::Errc;
using wattle::Fd;
using wattle::Log;
using wattle::Result;

namespace {

// Accepts one connection, answers with the pieces one by one, and then closes or stays.
class Peer {
 public:
  Peer(std::vector<std::string> pieces, bool closes) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(listener_.get(), 8) != 0)
      return;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this, closes, sent = std::move(pieces)] {
      Fd peer(::accept(listener_.get(), nullptr, nullptr));
      char request[4096];
      (void)::recv(peer.get(), request, sizeof request, 0);
      for (const std::string& piece : sent) (void)::send(peer.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
      if (!closes) (void)::recv(peer.get(), request, sizeof request, 0);  // until the client leaves
    });
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { thread_.join(); }
  Origin origin() const { return {"127.0.0.1", port_, std::nullopt}; }

 private:
  Fd listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

struct Taken {
  Result<Answer> answer;
  std::vector<std::string> lines;
};

Taken take(Origin origin, const LineStreamOptions& options = {}, std::size_t at_most = 1'000'000) {
  LineStream stream(std::move(origin), options);
  std::vector<std::string> lines;
  auto answer = stream.get("/watch", [&](std::string_view line) {
    lines.emplace_back(line);
    return lines.size() < at_most;
  });
  return {std::move(answer), std::move(lines)};
}

const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

std::string chunk(const std::string& text) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

}  // namespace

TEST_CASE("lines arrive whole and in order, however the peer splits chunks and packets") {
  CHECK(rc::check([] {
    const auto lines = *rc::gen::container<std::vector<std::string>>(
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'e'))));
    std::string body, bytes = kHead + "Transfer-Encoding: chunked\r\n\r\n";
    for (const auto& line : lines) body += line + "\n";
    while (!body.empty()) {
      const auto size = *rc::gen::inRange<std::size_t>(1, body.size() + 1);
      bytes += chunk(body.substr(0, size));
      body.erase(0, size);
    }
    bytes += "0\r\n\r\n";
    std::vector<std::string> pieces;
    while (!bytes.empty()) {
      const auto size = *rc::gen::inRange<std::size_t>(1, bytes.size() + 1);
      pieces.push_back(bytes.substr(0, size));
      bytes.erase(0, size);
    }
    const Peer peer(std::move(pieces), true);
    const Taken taken = take(peer.origin());
    RC_ASSERT(taken.answer.has_value());
    RC_ASSERT(taken.lines == lines);
  }));
}

TEST_CASE("an empty chunked body that arrives byte by byte is an empty body, for a client and for a server") {
  // Packets may be joined on the way; with many attempts some are not.
  for (int i = 0; i < 50; ++i) {
    const Peer peer({kHead + "Transfer-Encoding: chunked\r\n\r\n", "0\r\n", "\r", "\n"}, true);
    const Taken taken = take(peer.origin());
    REQUIRE(taken.answer);
    CHECK(taken.lines.empty());
  }
  const Log log = Log::silent();
  const auto server = Server::start({},
                                    {{"POST /",
                                      [](const Request&) {
                                        return Response{200, "text/plain", "ok"};
                                      }}},
                                    log);
  REQUIRE(server);
  for (int i = 0; i < 50; ++i) {
    const RawSocket socket(server->port());
    socket.send("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const char* piece : {"0\r\n", "\r", "\n"}) socket.send(piece);
    CHECK(socket.read_to_end().starts_with("HTTP/1.1 200"));
  }
}

TEST_CASE("the receiver of lines may end the stream, and half a line is not delivered") {
  const std::string bytes = kHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk("one\ntwo\nthr");
  {
    const Peer peer({bytes}, false);
    const Taken taken = take(peer.origin(), {}, 2);
    REQUIRE(taken.answer);
    CHECK(taken.answer->status == 200);
    CHECK(taken.lines == std::vector<std::string>{"one", "two"});
  }
  const Peer peer({bytes}, true);
  const Taken cut = take(peer.origin());
  REQUIRE_FALSE(cut.answer);
  CHECK(cut.answer.error().code == Errc::unavailable);
  CHECK(cut.lines == std::vector<std::string>{"one", "two"});
}

TEST_CASE("a silent peer, an endless line and a refusal end the stream, each with its own error") {
  {
    const Peer peer({kHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk("one\n")}, false);
    LineStreamOptions options;
    options.silence = 200ms;
    const Taken taken = take(peer.origin(), options);
    REQUIRE_FALSE(taken.answer);
    CHECK(taken.answer.error().code == Errc::timeout);
    CHECK(taken.lines.size() <= 1);
  }
  {
    const Peer peer({kHead + "Content-Length: 2000\r\n\r\n" + std::string(2000, 'x')}, false);
    LineStreamOptions options;
    options.max_line_bytes = 1000;
    const Taken taken = take(peer.origin(), options);
    REQUIRE_FALSE(taken.answer);
    CHECK(taken.answer.error().code == Errc::malformed);
  }
  const Peer peer({"HTTP/1.1 410 Gone\r\nContent-Length: 8\r\n\r\ntoo old\n"}, true);
  const Taken taken = take(peer.origin());
  REQUIRE(taken.answer);
  CHECK(taken.answer->status == 410);
  CHECK(taken.answer->body == "too old\n");
  CHECK(taken.lines.empty());
}

TEST_CASE("another thread can end the stream, before and during a wait") {
  const Peer peer({kHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk("one\n")}, false);
  LineStream stream(peer.origin(), {});
  std::promise<void> received;
  std::thread other([&] {
    received.get_future().wait();
    stream.stop();
  });
  const auto answer = stream.get("/watch", [&](std::string_view) {
    received.set_value();
    return true;
  });
  other.join();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().message().find("the request was cancelled") != std::string::npos);
  const auto later = stream.get("/watch", [](std::string_view) { return true; });
  REQUIRE_FALSE(later);
  CHECK(later.error().message().find("the request was cancelled") != std::string::npos);
}

TEST_CASE("over TLS lines come only from a server that the client trusts by authority and name") {
  const wattle::test::TempDir dir;
  const Signed authority = make_certificate("authority", nullptr), stranger = make_certificate("authority", nullptr);
  const Signed own = make_certificate("localhost", &authority), client = make_certificate("client", &authority);
  write_certificate(own, dir.file("server.pem"));
  write_key(own, dir.file("server.key"));
  write_certificate(authority, dir.file("ca.pem"));
  write_certificate(stranger, dir.file("stranger.pem"));
  write_certificate(client, dir.file("client.pem"));
  write_key(client, dir.file("client.key"));
  ServerOptions options;
  options.tls = {dir.file("server.pem"), dir.file("server.key"), dir.file("ca.pem")};
  const Log log = Log::silent();
  const auto server = Server::start(options,
                                    {{"GET /watch",
                                      [](const Request&) {
                                        return Response{200, "text/plain", "a\nb\n"};
                                      }}},
                                    log);
  REQUIRE(server);
  const auto ask = [&](const std::string& host, const std::string& ca, bool with_certificate) {
    Trust trust{dir.file(ca), {}, {}};
    if (with_certificate) trust = {dir.file(ca), dir.file("client.pem"), dir.file("client.key")};
    return take({host, server->port(), trust});
  };
  const Taken taken = ask("localhost", "ca.pem", true);
  if (!taken.answer) FAIL(taken.answer.error().message());
  CHECK(taken.lines == std::vector<std::string>{"a", "b"});
  const Taken foreign = ask("localhost", "stranger.pem", true);
  REQUIRE_FALSE(foreign.answer);
  CHECK(foreign.answer.error().code == Errc::denied);
  const Taken other_name = ask("127.0.0.1", "ca.pem", true);
  REQUIRE_FALSE(other_name.answer);
  CHECK(other_name.answer.error().code == Errc::denied);
  CHECK_FALSE(ask("localhost", "ca.pem", false).answer);
  const Taken no_file = ask("localhost", "none.pem", true);
  REQUIRE_FALSE(no_file.answer);
  CHECK(no_file.answer.error().subject == dir.file("none.pem"));
  // The persistent client behaves the same way.
  Client keeping(
      Origin{"localhost", server->port(), Trust{dir.file("ca.pem"), dir.file("client.pem"), dir.file("client.key")}});
  for (int i = 0; i < 3; ++i) {
    const auto answer = keeping.request("GET", "/watch", "", wattle::tests::soon());
    if (!answer) FAIL(answer.error().message());
    CHECK(answer->body == "a\nb\n");
  }
}
