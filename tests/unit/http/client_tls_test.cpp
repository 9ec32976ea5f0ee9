#include <doctest/doctest.h>
#include <sys/stat.h>

#include <optional>

#include "common/http/client.hpp"
#include "common/http/server.hpp"
#include "tests/patience.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/http/certificates.hpp"

using namespace std::chrono_literals;
using namespace wattle::http;
using namespace wattle::http::test;
using wattle::Errc;

namespace {

struct TlsClientFixture {
  wattle::test::TempDir dir;
  Signed authority = make_certificate("authority", nullptr), stranger = make_certificate("authority", nullptr);
  wattle::Log log = wattle::Log::silent();
  std::optional<Server> server;

  void start(const std::string& name) {
    const Signed own = make_certificate(name, &authority);
    write_certificate(authority, dir.file("ca.pem"));
    write_certificate(stranger, dir.file("other.pem"));
    write_certificate(own, dir.file("server.pem"));
    write_key(own, dir.file("server.key"));
    ServerOptions options;
    options.tls = {dir.file("server.pem"), dir.file("server.key"), {}};
    wattle::http::Routes routes;
    routes["POST /echo"] = [](const Request& request) {
      return Response{200, "text/plain", request.authorization + request.body};
    };
    auto started = Server::start(options, std::move(routes), log);
    if (!started) FAIL(started.error().message());
    server.emplace(std::move(*started));
  }
  Origin origin(const std::string& ca) const { return {"localhost", server->port(), Trust{dir.file(ca), {}, {}}}; }
  wattle::Result<Answer> ask(const std::string& ca) const {
    Client client(origin(ca));
    client.bearer("word");
    return client.request("POST", "/echo", " body", wattle::tests::soon());
  }
};

}  // namespace

TEST_CASE_FIXTURE(TlsClientFixture, "a client sends many requests over TLS on one connection") {
  start("localhost");
  Client client(origin("ca.pem"));
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.request("POST", "/echo", "body", wattle::tests::soon());
    REQUIRE(answer);
    CHECK(answer->body == "body");
  }
  CHECK(ask("ca.pem")->body == "Bearer word body");
}

TEST_CASE_FIXTURE(TlsClientFixture,
                  "a client sends nothing to a server that its authority does not know, or knows by another name") {
  std::string ca = "ca.pem";
  SUBCASE("another authority") {
    start("localhost");
    ca = "other.pem";
  }
  SUBCASE("another name") { start("elsewhere"); }
  const auto answer = ask(ca);
  REQUIRE(!answer);
  CHECK(answer.error().code == Errc::denied);
  CHECK(answer.error().fix.find(ca) != std::string::npos);
}

TEST_CASE_FIXTURE(TlsClientFixture, "a missing authority is named") {
  start("localhost");
  const auto answer = ask("none.pem");
  REQUIRE(!answer);
  CHECK(answer.error().code == Errc::not_found);
  CHECK(answer.error().subject == dir.file("none.pem"));
}

TEST_CASE_FIXTURE(
    TlsClientFixture,
    "an authority file that others may write, or a key that others may read, is refused before anything is sent") {
  start("localhost");
  for (const mode_t mode : {0664U, 0646U}) {
    REQUIRE(::chmod(dir.file("ca.pem").c_str(), mode) == 0);
    const auto answer = ask("ca.pem");
    REQUIRE(!answer);
    CHECK(answer.error().code == Errc::denied);
    CHECK(answer.error().subject == dir.file("ca.pem"));
    CHECK(answer.error().fix == "chmod go-w " + dir.file("ca.pem"));
  }
  REQUIRE(::chmod(dir.file("ca.pem").c_str(), 0644) == 0);
  Client client(
      {"localhost", server->port(), Trust{dir.file("ca.pem"), dir.file("server.pem"), dir.file("server.key")}});
  for (const mode_t mode : {0440U, 0404U}) {
    REQUIRE(::chmod(dir.file("server.key").c_str(), mode) == 0);
    const auto answer = client.request("POST", "/echo", "", wattle::tests::soon());
    REQUIRE(!answer);
    CHECK(answer.error().code == Errc::denied);
    CHECK(answer.error().subject == dir.file("server.key"));
    CHECK(answer.error().fix == "chmod 0400 " + dir.file("server.key"));
  }
  REQUIRE(::chmod(dir.file("server.key").c_str(), 0400) == 0);
  CHECK(client.request("POST", "/echo", "", wattle::tests::soon()));
}

TEST_CASE_FIXTURE(TlsClientFixture, "a server without TLS gets only a handshake") {
  ServerOptions options;
  wattle::http::Routes routes;
  start("localhost");
  auto plain = Server::start(options, {{"POST /echo", [](const Request&) { return Response{}; }}}, log);
  REQUIRE(plain);
  server.emplace(std::move(*plain));
  const auto answer = ask("ca.pem");
  REQUIRE(!answer);
  CHECK(answer.error().code == Errc::denied);
}
