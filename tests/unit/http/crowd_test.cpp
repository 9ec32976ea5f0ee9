#include "common/http/crowd.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "common/http/server.hpp"
#include "tests/patience.hpp"
#include "tests/unit/common/log_lines.hpp"
#include "tests/unit/http/raw_socket.hpp"

using namespace wattle::http;
using wattle::http::test::RawSocket;

namespace {

const Source kHere{"127.0.0.1", true}, kHostile{"192.0.2.1", false}, kProbe{"192.0.2.7", false},
    kOther{"198.51.100.1", false};
constexpr CrowdBounds kBounds{8, 4};

std::vector<Seat> seats(std::size_t count, const Source& from, Turn turn) {
  std::vector<Seat> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back({&from, turn, 100 - i});  // the last is the oldest
  return all;
}

std::vector<Seat> joined(std::vector<Seat> a, const std::vector<Seat>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("while there is room every connection is admitted and none is closed") {
  const auto verdict = judge(seats(3, kHostile, Turn::peer), kHostile, kBounds);
  CHECK(verdict.admitted);
  CHECK_FALSE(verdict.gives_way);
}

TEST_CASE("a source displaces only its own connections, the oldest first") {
  auto all = joined(seats(1, kProbe, Turn::peer), seats(4, kHostile, Turn::peer));
  all[0].since = 1;
  CHECK(judge(all, kHostile, kBounds).gives_way == 4);  // the oldest of its own, although the other is older
  all[4].since = 200;
  CHECK(judge(all, kHostile, kBounds).gives_way == 3);
  for (Seat& seat : all) seat.turn = Turn::work;
  CHECK_FALSE(judge(all, kHostile, kBounds).admitted);
  CHECK(judge(all, kProbe, kBounds).admitted);
}

TEST_CASE("when all is full the longest-waiting connection is displaced, loopback's only by loopback") {
  const auto all =
      joined(joined(seats(2, kHere, Turn::peer), seats(3, kHostile, Turn::peer)), seats(3, kOther, Turn::work));
  CHECK(judge(all, kProbe, kBounds).gives_way == 4);
  CHECK(judge(all, kHere, kBounds).gives_way == 4);
  const auto ours = joined(seats(4, kHere, Turn::peer), seats(4, kOther, Turn::work));
  CHECK_FALSE(judge(ours, kProbe, kBounds).admitted);
  CHECK(judge(ours, kHere, kBounds).gives_way == 3);
}

TEST_CASE("a request in progress stays, and some connections are reserved for loopback") {
  auto all = joined(joined(seats(3, kHostile, Turn::work), seats(3, kOther, Turn::work)), seats(2, kProbe, Turn::work));
  CHECK_FALSE(judge(all, kProbe, kBounds).admitted);
  for (std::size_t i = 0; i < kKeptForLoopback; ++i) {
    const auto verdict = judge(all, kHere, kBounds);
    CHECK(verdict.admitted);
    CHECK_FALSE(verdict.gives_way);
    all.push_back({&kHere, Turn::work, 0});
  }
  CHECK_FALSE(judge(all, kHere, kBounds).admitted);
  all[0].turn = Turn::gone;  // displaced but not closed yet: no longer counts
  CHECK(judge(all, kHere, kBounds).admitted);
  all[1].turn = Turn::peer;  // an answer that is not read
  CHECK(judge(all, kProbe, kBounds).gives_way == 1);
}

TEST_CASE("connections that end during a decision on their displacement do not stop the server") {
  const wattle::Log log = wattle::Log::silent();
  ServerOptions options{.max_connections = 8};
  options.threads = 4;
  const auto server = Server::start(options,
                                    {{"GET /hello",
                                      [](const Request&) {
                                        return Response{200, "text/plain", "hello"};
                                      }}},
                                    log);
  REQUIRE(server);
  std::vector<std::thread> crowd;
  for (int t = 0; t < 4; ++t)
    crowd.emplace_back([port = server->port()] {
      for (int i = 0; i < 1000; ++i) RawSocket(port).send("GET /hello HTTP/1.1\r\n");
    });
  for (auto& each : crowd) each.join();
  const RawSocket client(server->port());
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  CHECK(client.read_to_end().ends_with("hello"));
}

// UBSan uses a pipe to check whether memory is readable, and takes a lack of descriptors for unreadable memory.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATTLE_NEEDS_DESCRIPTORS
#endif
#endif
#ifndef WATTLE_NEEDS_DESCRIPTORS
TEST_CASE("a program without descriptors logs that once, and answers the waiting clients when it has some again") {
  std::string answer;
  const auto lines = wattle::test::lines_of([&answer] {
    const wattle::Log log("wattle-test", wattle::LogLevel::info, wattle::LogFormat::json);
    const auto server = Server::start({}, {{"GET /hello", [](const Request&) { return Response{}; }}}, log);
    REQUIRE(server);
    const RawSocket early(server->port());
    early.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    early.read_until("\r\n\r\n");  // everything that is opened once is open
    RawSocket client;
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit few{256, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    std::vector<wattle::Fd> taken;
    for (int fd = ::dup(client.fd()); fd >= 0; fd = ::dup(client.fd())) taken.emplace_back(fd);
    CHECK(client.connect(server->port()));
    wattle::tests::let_a_moment_pass();  // it tries again every 100 ms
    taken.clear();
    ::setrlimit(RLIMIT_NOFILE, &before);
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    answer = client.read_to_end();
  });
  CHECK(answer.starts_with("HTTP/1.1 200 "));
  CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          return line.find("http.accept_failed") != std::string::npos;
        }) == 1);
}
#endif
