#include "agent/collect/probe.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/dir.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;

namespace {
// A TCP socket on a free loopback port.
struct Loopback {
  explicit Loopback(bool listening) : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    if (listening) REQUIRE(::listen(socket.get(), 8) == 0);
    port = ntohs(address.sin_port);
  }
  Fd socket;
  std::uint16_t port = 0;
};
}  // namespace

TEST_CASE("an answer, a refusal and a name that does not exist are distinguished") {
  const Loopback open(true), closed(false);
  const SystemClock clock;
  const Log log = Log::silent();
  Prober prober = *Prober::open_(
      {{"open", "127.0.0.1", open.port}, {"closed", "127.0.0.1", closed.port}, {"nameless", "host.invalid", 80}}, clock,
      log);
  prober.round();
  const auto values = prober.values();
  REQUIRE(values.size() == 3);
  CHECK(values[0].p50_ms.has_value());
  CHECK(values[0].loss_ratio == doctest::Approx(0));
  CHECK_FALSE(values[1].p50_ms.has_value());
  CHECK(values[1].loss_ratio == doctest::Approx(1));
  const auto counts = prober.counts();
  CHECK(counts[0].by_end[static_cast<std::size_t>(ProbeEnd::answered)] == 1);
  CHECK(counts[1].by_end[static_cast<std::size_t>(ProbeEnd::refused)] == 1);
  CHECK(counts[2].by_end[static_cast<std::size_t>(ProbeEnd::dns)] == 1);
}

TEST_CASE("a connect without an answer ends as a timeout") {
  const Loopback full(true);
  REQUIRE(::listen(full.socket.get(), 0) == 0);
  // The listener does not accept: the backlog fills up, and then connects hang.
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(full.port);
  std::vector<Fd> fill;
  for (int i = 0; i < 4; ++i) {
    fill.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(fill.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  const SystemClock clock;
  const Log log = Log::silent();
  Prober prober = *Prober::open_({{"full", "127.0.0.1", full.port}}, clock, log);
  prober.round();
  CHECK(prober.counts()[0].by_end[static_cast<std::size_t>(ProbeEnd::timeout)] == 1);
}

TEST_CASE("a prober stops at its destruction, and does nothing without targets") {
  const Loopback open(true);
  const SystemClock clock;
  const Log log = Log::silent();
  Prober idle = *Prober::open_({}, clock, log);
  idle.start();
  CHECK(idle.values().empty());
  Prober prober = *Prober::open_({{"open", "127.0.0.1", open.port}}, clock, log);
  prober.start();
}
