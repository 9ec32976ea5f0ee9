#include "common/http/certificate.hpp"

#include <doctest/doctest.h>

#include "common/dir.hpp"
#include "common/http/client.hpp"
#include "common/http/server.hpp"
#include "tests/patience.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace std::chrono_literals;
using namespace wattle;
using namespace wattle::http;

namespace {

// Asks a server that shows `shown`, trusting `believed` as authority, or only by its fingerprint.
Result<Answer> ask(const Certificate& shown, const Certificate& believed, bool pinned = false) {
  const wattle::test::TempDir dir;
  REQUIRE(write_file_atomically(dir.file("own.pem"), shown.certificate));
  REQUIRE(write_file_atomically(dir.file("own.key"), shown.key, 0400));
  REQUIRE(write_file_atomically(dir.file("ca.pem"), believed.certificate));
  ServerOptions options;
  options.tls = {dir.file("own.pem"), dir.file("own.key"), {}};
  wattle::http::Routes routes;
  routes["GET /hello"] = [](const Request&) { return Response{200, "text/plain", "hello"}; };
  const Log log = Log::silent();
  auto server = Server::start(options, std::move(routes), log);
  REQUIRE_MESSAGE(server, server.error().message());
  const auto fingerprint = certificate_file_fingerprint(dir.file("ca.pem"));
  REQUIRE(fingerprint);
  const Trust trust = pinned ? Trust{{}, {}, {}, *fingerprint} : Trust{dir.file("ca.pem"), {}, {}};
  Client client(Origin{"localhost", server->port(), trust});
  return client.request("GET", "/hello", "", wattle::tests::soon());
}

Certificate made(const std::string& name, std::chrono::hours valid = 24h, WallTime now = SystemClock().wall()) {
  auto one = self_signed({name, "also." + name}, now, valid);
  REQUIRE(one);
  return *one;
}

}  // namespace

TEST_CASE("our own certificate is trusted by a client that has it as authority, only for its names") {
  const Certificate own = made("localhost");
  const auto answer = ask(own, own);
  REQUIRE(answer);
  CHECK(answer->body == "hello");
  CHECK(ask(own, made("localhost")).error().code == Errc::denied);
  const Certificate foreign = made("elsewhere.example");
  CHECK(ask(foreign, foreign).error().code == Errc::denied);
}

TEST_CASE("a certificate is trusted by its fingerprint, whatever its name") {
  const Certificate one = made("elsewhere.example");
  const auto answer = ask(one, one, true);
  REQUIRE(answer);
  CHECK(answer->body == "hello");
  const auto other = ask(made("localhost"), one, true);
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Errc::denied);
  CHECK(other.error().what.find("certificate differs from the expected one") != std::string::npos);
}

TEST_CASE("a file without a certificate has no fingerprint, and is named") {
  const wattle::test::TempDir dir;
  REQUIRE(write_file_atomically(dir.file("empty.pem"), "nothing"));
  const auto none = certificate_file_fingerprint(dir.file("empty.pem"));
  REQUIRE_FALSE(none);
  CHECK(none.error().subject == dir.file("empty.pem"));
}

TEST_CASE("invalid names make no certificate") { CHECK_FALSE(self_signed({""}, SystemClock().wall(), 1h)); }

TEST_CASE("the expiry of a file's first certificate is reported, and whether it is soon") {
  const wattle::test::TempDir dir;
  const WallTime now = SystemClock().wall();
  // An expiry has whole seconds.
  const auto near = [&](const Result<WallTime>& end, std::chrono::hours after) {
    REQUIRE(end);
    return *end - now <= after && *end - now > after - 1s;
  };
  const std::string both = made("a", 24h * 90, now).certificate + made("b", 24h * 12 + 1h, now).certificate;
  REQUIRE(write_file_atomically(dir.file("both.pem"), both));
  CHECK(near(certificate_file_end(dir.file("both.pem")), 24h * 12 + 1h));
  CHECK(certificates_end("no certificate", "it").error().code == Errc::malformed);
  CHECK(certificate_file_end(dir.file("none.pem")).error().code == Errc::not_found);
  CHECK(ends_soon(now + 24h * 12 + 1h, now) == "expires in 12 days");
  CHECK(ends_soon(now + 24h + 1h, now) == "expires in 1 day");
  CHECK(ends_soon(now + 1h, now) == "expires in less than a day");
  CHECK(ends_soon(now - 24h * 3, now) == "expired 3 days ago");
  CHECK_FALSE(ends_soon(now + 24h * 31, now));
}
