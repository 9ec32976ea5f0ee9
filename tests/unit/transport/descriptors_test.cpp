// descriptors: a server whose process has no descriptor left for a connection.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <vector>

#include "common/dir.hpp"
#include "common/net_address.hpp"
#include "common/transport/sockets.hpp"
#include "world.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::testing;

namespace {
constexpr int kWaits = 20;
constexpr std::chrono::milliseconds kWait{50};
// A listener that pauses for 100 ms is refused about ten times during these waits, or a few times that on a slow
// machine. One that does not pause is refused hundreds of thousands of times.
constexpr std::uint64_t kFew = 2'000;

Fd connect_to(const std::string& endpoint) {
  const auto at = parse_tcp_endpoint(endpoint);
  const auto address = numeric_address(at->host, at->port);
  Fd fd(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), address->get(), address->length) != 0) return {};
  return fd;
}

// Counts refusals while `server` runs for kWaits waits.
std::uint64_t refusals_meanwhile(const World& world, Server& server) {
  const std::uint64_t before = world.context.refusals().get(Channel::ask, Refused::descriptors);
  const Socket* sockets[] = {&server};
  for (int i = 0; i < kWaits; ++i) {
    poll(sockets, {}, kWait);
    while (server.receive()) {
    }
  }
  return world.context.refusals().get(Channel::ask, Refused::descriptors) - before;
}

bool is_refused_once(const World& world, Server& server) {
  return eventually([&] {
    poll({}, {}, kWait);
    while (server.receive()) {
    }
    return world.context.refusals().get(Channel::ask, Refused::descriptors) > 0;
  });
}
}  // namespace

TEST_CASE("a full descriptor table does not make the listener busy, and peers are accepted when it has room again") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  REQUIRE(server);
  auto client = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
  REQUIRE(client);
  REQUIRE(comes_up(*client));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  {
    // The connection's own descriptor is opened before the last one is taken, so only accept() finds none.
    const auto at = parse_tcp_endpoint(server->endpoint());
    const auto address = numeric_address(at->host, at->port);
    const Fd waiting(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const Fd last(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit full{static_cast<rlim_t>(last.get()) + 1, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &full) == 0);
    REQUIRE(::connect(waiting.get(), address->get(), address->length) == 0);
    CHECK(is_refused_once(world, *server));
    CHECK(refusals_meanwhile(world, *server) < kFew);
    REQUIRE(testing::send(*client, "still here"));
    CHECK(testing::receive(*server));
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  auto late = Client::connect(world.context, world.client_options(server->endpoint(), world.shim_key));
  REQUIRE(late);
  CHECK(comes_up(*late));
}

TEST_CASE("descriptors reserved for other uses are not given to peers") {
  World world;
  auto options = world.server_options();
  const Fd lowest(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  options.descriptors_below = lowest.get() + 40;
  auto server = Server::bind(world.context, options);
  REQUIRE(server);
  {
    std::vector<Fd> many;
    for (int i = 0; i < 60; ++i) many.push_back(connect_to(server->endpoint()));
    CHECK(is_refused_once(world, *server));
    CHECK(refusals_meanwhile(world, *server) < kFew);
    const Fd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    CHECK(other.valid());
  }
  auto client = Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
  REQUIRE(client);
  CHECK(comes_up(*client));
}
