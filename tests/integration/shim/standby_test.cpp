// The standby process with a listening socket that its owner never serves, like a hanging shim.
#include "shim/standby.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "common/http/client.hpp"
#include "tests/patience.hpp"

using namespace wattle;

namespace {

struct Listener {
  Listener() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* where = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(socket.get(), where, sizeof address) == 0);
    REQUIRE(::listen(socket.get(), 16) == 0);
    REQUIRE(::getsockname(socket.get(), where, &size) == 0);
  }
  http::Client client() const { return {"127.0.0.1", ntohs(address.sin_port)}; }
  Fd connect() const {
    Fd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(peer.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return peer;
  }
  Fd socket;
  sockaddr_in address{};
};

const std::string kArgs = R"({"Pod":{},"NodeNames":["a","b"]})";

}  // namespace

TEST_CASE(
    "while the shim hangs, its standby answers each request; a silent or malformed peer delays the next briefly") {
  const Log log = Log::silent();
  const Listener listener;
  auto standby = shim::Standby::start(log);
  REQUIRE(standby);
  (*standby)->share(listener.socket.get());
  const auto scores = listener.client().request("POST", "/prioritize", kArgs, tests::soon());
  REQUIRE(scores);
  CHECK(scores->status == 200);
  CHECK(scores->body == "[]");

  const Fd silent = listener.connect();
  const Fd garbage = listener.connect();
  REQUIRE(::send(garbage.get(), "\r\n\r\n", 4, MSG_NOSIGNAL) == 4);
  const std::string many(5000, 'n');
  const auto passed =
      listener.client().request("POST", "/filter", R"({"Pod":{},"NodeNames":[")" + many + R"("]})", tests::soon());
  REQUIRE(passed);
  CHECK(passed->status == 200);
  CHECK(passed->body.find(many) != std::string::npos);
  const auto alive = listener.client().request("GET", "/livez", "", tests::soon());
  REQUIRE(alive);
  CHECK(alive->status == 503);
}

TEST_CASE("a standby that exits releases the socket, and the shim continues without it") {
  const Log log = Log::silent();
  auto listener = std::make_optional<Listener>();
  auto standby = shim::Standby::start(log);
  REQUIRE(standby);
  (*standby)->share(listener->socket.get());
  (*standby)->end();
  (*standby)->beat();
  const sockaddr_in address = listener->address;
  listener.reset();
  const Fd next(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(::bind(next.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}
