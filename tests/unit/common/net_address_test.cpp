#include "common/net_address.hpp"
#include "common/tcp_endpoint.hpp"

#include <doctest/doctest.h>

using namespace wattle;

TEST_CASE("a numeric address of either family is recognised, and a name is not") {
  const auto four = numeric_address("192.0.2.1", 7460);
  REQUIRE(four);
  CHECK_FALSE(four->ipv6());
  CHECK(four->host() == "192.0.2.1");
  CHECK(four->port() == 7460);
  CHECK(four->endpoint() == "tcp://192.0.2.1:7460");
  const auto six = numeric_address("2001:db8::1", 1);
  REQUIRE(six);
  CHECK(six->ipv6());
  CHECK(six->endpoint() == "tcp://[2001:db8::1]:1");
  CHECK(*six == *numeric_address("2001:0db8:0::1", 1));
  CHECK_FALSE(*six == *numeric_address("2001:db8::1", 2));
  for (const char* name : {"localhost", "controller", "", "192.0.2.1.example", "[::1]"})
    CHECK_FALSE(numeric_address(name, 1));
}

TEST_CASE("a host's addresses are each listed once; a name without any is an error that names it") {
  const auto digits = resolve_host("::1", 7);
  REQUIRE(digits);
  CHECK(*digits == std::vector<NetAddress>{*numeric_address("::1", 7)});
  const auto local = resolve_host("localhost", 7);
  REQUIRE(local);
  for (std::size_t i = 0; i < local->size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE((*local)[i] == (*local)[j]);
  const auto none = resolve_host("no such host", 7);
  REQUIRE_FALSE(none);
  CHECK(none.error().subject == "no such host");
}

TEST_CASE("an address that no program can connect to is refused in the configuration") {
  for (const char* good : {"tcp://controller:7460", "tcp://10.0.0.1:1", "tcp://[2001:db8::1]:65535",
                           "tcp://[fe80::1%eth0]:7460", "tcp://10.0.0.2:0;10.0.0.1:7460", "ipc:///run/socket"})
    CHECK_MESSAGE(can_connect_to(good), good);
  for (const char* bad :
       {"", "tcp://", "tcp://a", "tcp://a:0", "tcp://a:-1", "tcp://a:+5", "tcp://a: 5", "tcp://a:65536", "tcp://*:7460",
        "tcp://a b:1", "tcp://a:1/path", "tcp://a/b:1", "tcp://[::1:1", "udp://a:1", "TCP://a:1", "a:1", "ipc://"})
    CHECK_FALSE_MESSAGE(can_connect_to(bad), bad);
}

TEST_CASE("an endpoint is parsed with and without brackets, and anything else is refused") {
  CHECK(*parse_tcp_endpoint("tcp://controller:7460") == HostPort{"controller", 7460});
  CHECK(*parse_tcp_endpoint("tcp://[2001:db8::1]:7460") == HostPort{"2001:db8::1", 7460});
  CHECK(*parse_tcp_endpoint("tcp://*:0") == HostPort{"*", 0});
  for (const char* other : {"", "tcp://", "tcp://controller", "tcp://:7460", "tcp://controller:70000", "tcp://a:*",
                            "ipc:///run/socket", "inproc://zap", "controller:7460"})
    CHECK_FALSE(parse_tcp_endpoint(other));
}
