#include "common/http/certificate.hpp"

#include <doctest/doctest.h>

#include "common/dir.hpp"
#include "common/http/client.hpp"
#include "common/http/server.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace std::chrono_literals;
using namespace wattle;
using namespace wattle::http;

namespace {

// Asks a server that shows `shown`, believing `believed`.
Result<Answer> ask(const Certificate& shown, const Certificate& believed) {
  const test::TempDir dir;
  REQUIRE(write_file_atomically(dir.file("own.pem"), shown.certificate));
  REQUIRE(write_file_atomically(dir.file("own.key"), shown.key, 0400));
  REQUIRE(write_file_atomically(dir.file("ca.pem"), believed.certificate));
  ServerOptions options;
  options.tls = {dir.file("own.pem"), dir.file("own.key"), {}};
  std::map<std::string, Handler> routes;
  routes["GET /hello"] = [](const Request&) { return Response{200, "text/plain", "hello"}; };
  const Log log = Log::silent();
  auto server = Server::start(options, std::move(routes), log);
  REQUIRE(server);
  Client client(Origin{"localhost", server->port(), Trust{dir.file("ca.pem"), {}, {}}});
  return client.request("GET", "/hello", "", 20s);
}

Certificate made(const std::string& name, Duration ago = {}, std::chrono::hours valid = 24h) {
  auto one = self_signed({name, "also." + name}, SystemClock().wall() - ago, valid);
  REQUIRE(one);
  return *one;
}

}  // namespace

TEST_CASE("a certificate of our own making is believed by whoever has it as authority, for its names alone") {
  const Certificate own = made("localhost");
  const auto answer = ask(own, own);
  REQUIRE(answer);
  CHECK(answer->body == "hello");
  CHECK(ask(own, made("localhost")).error().code == Errc::denied);
  const Certificate foreign = made("elsewhere.example");
  CHECK(ask(foreign, foreign).error().code == Errc::denied);
}

TEST_CASE("names that are none make no certificate") { CHECK_FALSE(self_signed({""}, SystemClock().wall(), 1h)); }
