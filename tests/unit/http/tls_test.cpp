#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <optional>

#include "common/clock.hpp"
#include "common/http/client.hpp"
#include "common/http/server.hpp"
#include "tests/patience.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/http/certificates.hpp"

using namespace std::chrono_literals;
using namespace wattle::http;
using namespace wattle::http::test;
using wattle::Errc;
using wattle::Log;

namespace {

const std::string kRequest = "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

// For requests that start in time and do not end: long for a first byte on a busy machine, short for a test.
constexpr auto kTrickle = 2s;

struct TlsFixture {
  wattle::test::TempDir dir;
  Signed authority = make_certificate("authority", nullptr);
  Signed own = make_certificate("first", &authority);
  Log log = Log::silent();
  ServerOptions options;
  std::optional<Server> server;

  TlsFixture() {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to refused connections
    options.refusals = std::make_shared<RefusalCounts>();
  }
  void use_tls() {
    write_certificate(own, dir.file("server.pem"));
    write_key(own, dir.file("server.key"));
    options.tls = {dir.file("server.pem"), dir.file("server.key"), {}};
  }
  void ask_for_certificates() {
    write_certificate(authority, dir.file("clients.pem"));
    options.tls.client_ca = dir.file("clients.pem");
  }
  void start() {
    auto started = begin();
    if (!started) FAIL(started.error().message());
    server.emplace(std::move(*started));
  }
  wattle::Result<Server> begin() const {
    wattle::http::Routes routes;
    routes["GET /hello"] = [](const Request&) { return Response{200, "text/plain", "hello"}; };
    routes["GET /livez"] = [](const Request&) { return Response{200, "text/plain", "ok"}; };
    return Server::start(options, std::move(routes), log);
  }
  TlsAnswer ask(const Signed* as = nullptr) const { return ask_over_tls(server->port(), kRequest, authority, as); }
  std::uint64_t refused(Refused why) const { return options.refusals->get(why); }
};

bool is_hello(const TlsAnswer& answer) {
  return answer.text.starts_with("HTTP/1.1 200 OK\r\n") && answer.text.ends_with("\r\n\r\nhello");
}

}  // namespace

TEST_CASE("over TLS the answers are the same, and a client without TLS is refused and counted") {
  TlsFixture f;
  f.use_tls();
  f.start();
  CHECK(is_hello(f.ask()));
  CHECK(f.refused(Refused::tls) == 0);
  const RawSocket plain(f.server->port());
  plain.send(kRequest);
  CHECK(plain.read_to_end().find("hello") == std::string::npos);
  CHECK(f.refused(Refused::tls) == 1);
  CHECK(is_hello(f.ask()));
}

TEST_CASE("a client without a certificate, or with an expired or foreign one, is refused and counted") {
  TlsFixture f;
  f.use_tls();
  f.ask_for_certificates();
  f.start();
  const Signed fine = make_certificate("client", &f.authority);
  const Signed expired = make_certificate("client", &f.authority, -60);
  const Signed elsewhere = make_certificate("authority", nullptr);
  const Signed foreign = make_certificate("client", &elsewhere);
  std::uint64_t refused = 0;
  for (const Signed* wrong : {static_cast<const Signed*>(nullptr), &expired, &foreign}) {
    CHECK(f.ask(wrong).text.empty());
    CHECK(f.refused(Refused::tls) == ++refused);
  }
  CHECK(is_hello(f.ask(&fine)));
  CHECK(f.refused(Refused::tls) == refused);
}

TEST_CASE("a missing, expired, malformed or mismatched certificate prevents a start, and the error names the file") {
  TlsFixture f;
  f.use_tls();
  const std::string pem = f.options.tls.certificate, key = f.options.tls.key;
  const auto fails = [&](const std::string& file, Errc code, const std::string& what) {
    const auto started = f.begin();
    REQUIRE_FALSE(started);
    CHECK(started.error().code == code);
    CHECK(started.error().subject == file);
    CHECK(started.error().message().find(what) != std::string::npos);
    CHECK_FALSE(started.error().fix.empty());
  };
  f.options.tls.certificate = f.dir.file("none.pem");
  fails(f.options.tls.certificate, Errc::not_found, "");
  f.options.tls.certificate = pem;
  REQUIRE(::chmod(key.c_str(), 0440) == 0);
  fails(key, Errc::denied, "secret key");
  write_key(make_certificate("other", nullptr), key);
  fails(key, Errc::malformed, "mismatch");
  for (const char* locked : {"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n",
                             "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIB\n"}) {
    REQUIRE(wattle::write_file_atomically(key, locked, 0600));
    fails(key, Errc::malformed, "passphrase");
  }
  write_key(f.own, key);
  REQUIRE(wattle::write_file_atomically(pem, "no PEM\n"));
  fails(pem, Errc::malformed, "");
  const Signed expired = make_certificate("old", &f.authority, -60);
  write_certificate(expired, pem);
  write_key(expired, key);
  fails(pem, Errc::malformed, "has expired");
  write_certificate(f.own, pem);
  write_key(f.own, key);
  f.options.tls.client_ca = f.dir.file("nobody.pem");
  fails(f.options.tls.client_ca, Errc::not_found, "");
}

TEST_CASE("a renewed certificate is used for new connections without a restart; a broken one is not") {
  TlsFixture f;
  f.use_tls();
  f.start();
  CHECK(f.ask().server == "first");
  const Signed renewed = make_certificate("second", &f.authority);
  write_key(renewed, f.options.tls.key);
  write_certificate(renewed, f.options.tls.certificate);
  const wattle::SystemClock clock;
  const wattle::MonoTime until = clock.mono() + wattle::tests::soon();
  TlsAnswer answer;
  while (answer.server != "second" && clock.mono() < until) {
    answer = f.ask();
    CHECK(is_hello(answer));
  }
  CHECK(answer.server == "second");
}

TEST_CASE("a silent connection is closed, and a slow request is cut off; both are counted") {
  TlsFixture f;
  f.use_tls();
  f.options.request_timeout = 100ms;
  f.start();
  CHECK(RawSocket(f.server->port()).read_to_end().empty());
  CHECK(f.refused(Refused::tls) == 1);
  f.options.tls = {};
  f.start();
  CHECK(RawSocket(f.server->port()).read_to_end().empty());
  CHECK(f.refused(Refused::too_slow) == 1);
  f.options.request_timeout = kTrickle;
  f.start();
  const RawSocket slow(f.server->port());
  slow.send("GET /hello HTTP/1.1\r\nHost");
  CHECK(slow.read_to_end().starts_with("HTTP/1.1 408 "));
  CHECK(f.refused(Refused::too_slow) == 2);
}

TEST_CASE("with a token file every path except the open ones needs the token, whether or not it exists") {
  TlsFixture f;
  f.options.token_file = f.dir.file("token");
  REQUIRE(wattle::write_file_atomically(f.options.token_file, "correct-horse-battery\n", 0400));
  f.start();
  Client client("127.0.0.1", f.server->port());
  CHECK(client.request("GET", "/hello", "", wattle::tests::soon())->status == 401);
  CHECK(client.request("GET", "/nothing", "", wattle::tests::soon())->status == 401);
  CHECK(client.request("GET", "/livez", "", wattle::tests::soon())->status == 200);
  const auto with = [&](const std::string& authorization) {
    const RawSocket socket(f.server->port());
    socket.send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: " + authorization + "\r\n\r\n");
    return socket.read_to_end();
  };
  CHECK(with("Bearer correct-horse-batterx").starts_with("HTTP/1.1 401 "));
  CHECK(with("Bearer correct-horse-batterx").find("WWW-Authenticate: Bearer") != std::string::npos);
  CHECK(with("Bearer correct-horse-battery").starts_with("HTTP/1.1 200 "));
  CHECK(f.refused(Refused::token) == 4);
  client.bearer("correct-horse-battery");
  CHECK(client.request("GET", "/hello", "", wattle::tests::soon())->status == 200);
  REQUIRE(::chmod(f.options.token_file.c_str(), 0444) == 0);
  CHECK(f.begin().error().code == Errc::denied);
}

TEST_CASE("a remote endpoint without TLS or token is an error unless it is explicitly permitted") {
  const auto read = [](const std::string& text, const std::string& address, Callers callers) {
    auto document = wattle::config::Document::parse(text, "c.yaml");
    REQUIRE(document);
    Access access;
    wattle::config::Section root = document->root();
    read_access(root, address, callers, access);
    const auto done = document->finish();
    return done ? std::string() : done.error().message();
  };
  const auto token = Callers::with_token, certificate = Callers::with_certificate;
  const std::string tls = "tls: {certificate: /c, key: /k}\n";
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1"}) CHECK(read("{}", address, token).empty());
  for (const char* address : {"0.0.0.0", "::", "192.0.2.7", "10.0.0.1"}) {
    CHECK(read("{}", address, token).find("c.yaml") != std::string::npos);
    CHECK(read("{}", address, token).find("insecure: true") != std::string::npos);
    CHECK(read(tls, address, certificate).empty());
    CHECK(read("token_file: /t", address, token).empty());
    CHECK_FALSE(read("token_file: /t", address, certificate).empty());
    CHECK(read("insecure: true", address, certificate).empty());
  }
  CHECK(read("tls: {certificate: /c}", "::1", token).find("tls.key") != std::string::npos);
  CHECK(read("tls: {client_ca: /c}", "::1", certificate).find("tls.certificate") != std::string::npos);
}

TEST_CASE("over TLS a request that is cut off or too large gets the reason") {
  TlsFixture f;
  f.use_tls();
  f.options.request_timeout = kTrickle;
  f.options.max_header_bytes = 1000;
  f.start();
  const auto ask = [&](const std::string& request) {
    return ask_over_tls(f.server->port(), request, f.authority).text;
  };
  CHECK(ask("GET /hello HTTP/1.1\r\nHost").starts_with("HTTP/1.1 408 "));
  CHECK(ask("GET /" + std::string(2000, 'a')).starts_with("HTTP/1.1 431 "));
  CHECK(f.refused(Refused::too_slow) == 1);
  CHECK(f.refused(Refused::too_large) == 1);
  CHECK(is_hello(f.ask()));
}
