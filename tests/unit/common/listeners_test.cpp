#include "common/listeners.hpp"

#include <doctest/doctest.h>

using namespace wattle;

namespace {

// The mistakes of listeners a and b (endpoints) and c (address and port).
std::string mistakes(const std::string& a, const std::string& b, const std::string& address = "127.0.0.1",
                     std::uint16_t port = 8050) {
  auto document = config::Document::parse("{}", "test");
  REQUIRE(document);
  config::Section root = document->root();
  config::Section web = root.section("c");
  Listeners listeners;
  listeners.add_endpoint(root, "a", "a", a);
  listeners.add_endpoint(root, "b", "b", b);
  listeners.add_http(web, "c.port", address, port);
  const Status done = document->finish();
  return done ? "" : done.error().message();
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("addresses to listen on are accepted where sockets can be opened there") {
  for (const char* good : {"tcp://*:7460", "tcp://0.0.0.0:7460", "tcp://127.0.0.1:0", "tcp://[::1]:7460",
                           "tcp://[::]:1", "tcp://eth0:7460", "tcp://br-1a2b3c:65535", "ipc:///tmp/wattle.sock"})
    CHECK_MESSAGE(mistakes(good, "tcp://*:7461") == "", good);
  for (const char* bad :
       {"", "tcp://", "tcp://*", "tcp://*:70000", "tcp://*:-1", "tcp://*:x", "tcp://1.2.3:1", "tcp://300.1.1.1:5",
        "tcp://a b:1", "tcp://[::1:1", "tcp://an-interface-of-no-linux:1", "tcp://controller.wattle.svc:7460",
        "udp://*:1", "*:7460", "7460", "ipc://", "ipc://relative.sock", "ipc:///no/such/folder/a.sock", "ipc:///tmp"})
    CHECK_MESSAGE(has(mistakes(bad, "tcp://*:7461"), ": a: "), bad);
  CHECK(has(mistakes("ipc:///no/such/folder/a.sock", "tcp://*:1"), "there is no folder /no/such/folder"));
  CHECK(has(mistakes("ipc:///tmp/" + std::string(120, 'a'), "tcp://*:1"), "is longer than the 107 bytes"));
  for (const char* good : {"127.0.0.1", "0.0.0.0", "::", "::1", "10.0.0.7"})
    CHECK_MESSAGE(mistakes("tcp://*:1", "tcp://*:2", good) == "", good);
  for (const char* bad : {"", "here", "*", "1.2.3", "[::1]", "127.0.0.1:80", "localhost"})
    CHECK_MESSAGE(has(mistakes("tcp://*:1", "tcp://*:2", bad), "is not an IP address"), bad);
}

TEST_CASE("two listeners on one port are a mistake, unless their addresses differ or the port is free to choose") {
  CHECK(has(mistakes("tcp://*:7460", "tcp://*:7460"), "7460 is already used by a (use another port)"));
  CHECK(has(mistakes("tcp://0.0.0.0:7460", "tcp://10.0.0.1:7460"), "already used by a"));
  CHECK(has(mistakes("tcp://10.0.0.1:7460", "tcp://[::]:7460"), "already used by a"));
  CHECK(has(mistakes("tcp://*:8050", "tcp://*:7461"), "port: 8050 is already used by a"));
  CHECK(has(mistakes("tcp://*:1", "tcp://127.0.0.1:8050"), "port: 8050 is already used by b"));
  CHECK(has(mistakes("ipc:///tmp/a.sock", "ipc:///tmp/a.sock"), "'/tmp/a.sock' is already used by a"));
  CHECK(mistakes("tcp://10.0.0.1:7460", "tcp://10.0.0.2:7460") == "");
  CHECK(mistakes("tcp://127.0.0.1:0", "tcp://127.0.0.1:0", "127.0.0.1", 0) == "");
}

}  // namespace
