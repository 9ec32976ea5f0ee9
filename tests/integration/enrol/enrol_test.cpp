// An agent's own code against a controller: it enrols over TLS, is accepted, and is rejected once it is revoked.
#include "agent/enrol.hpp"

#include <doctest/doctest.h>

#include "agent/link.hpp"
#include "common/enrol_tokens.hpp"
#include "common/http/client.hpp"
#include "common/http/token.hpp"
#include "common/transport/allow_edit.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"
#include "tests/unit/http/certificates.hpp"

using namespace wattle;
using namespace std::chrono_literals;
using controller::test::kPatience;
using controller::test::World;
using transport::AllowList;
using transport::KeyPair;

namespace {

struct Enrolling {
  World world{0};
  http::test::Signed authority = http::test::make_certificate("authority", nullptr);
  std::string tokens = world.dir / "tokens", allow = world.dir / "allow";
  agent::AgentConfig config;

  Enrolling() {
    const auto own = http::test::make_certificate("localhost", &authority);
    http::test::write_certificate(authority, world.dir / "ca.pem");
    http::test::write_certificate(http::test::make_certificate("authority", nullptr), world.dir / "other.pem");
    http::test::write_certificate(own, world.dir / "server.pem");
    http::test::write_key(own, world.dir / "server.key");
    world.config.enrol.tokens = tokens;
    world.config.enrol.port = 0;
    world.config.enrol.tls = {world.dir / "server.pem", world.dir / "server.key", {}};
    world.config.learn.enabled = false;
    world.config.policy = "model-greedy";
    world.start();
    config.node = "n0";
    config.state_dir = world.dir / "agent";
    config.bpf.enabled = false;
    config.controller.endpoint = world.controller->endpoints().telemetry;
    config.controller.key_file = world.dir / "agent/agent.key";
    config.controller.server_key_file = world.dir / "agent/controller.pub";
    config.controller.enrol.url = "https://localhost";
    config.controller.enrol.host = "localhost";
    config.controller.enrol.path = "/api/v1/enrol";
    config.controller.enrol.port = world.controller->endpoints().enrol_port;
    config.controller.enrol.ca_file = world.dir / "ca.pem";
    config.controller.enrol.token_file = world.dir / "token";
  }
  // Writes the token to the agent's file.
  void give_token(const std::string& node, std::int64_t valid_s = 3600, bool replace = false) {
    const std::string made = make_enrol_token().value();
    EnrolToken line;
    line.hash = enrol_hash(made);
    line.node = node;
    line.expires_s = to_ns(world.clock.wall()) / 1'000'000'000 + valid_s;
    line.replace = replace;
    REQUIRE(write_file_atomically(tokens, with_enrol_token(read_enrol_file(tokens).value(), line)));
    REQUIRE(write_file_atomically(config.controller.enrol.token_file, made + "\n", 0400));
  }
  Result<transport::ServerKeys> enrol(const std::string& key) const {
    return agent::enrol_once(config.controller.enrol, config.node, key);
  }
  // Returns whether a metrics page contains the line.
  bool counted(const std::string& line) const {
    http::Client client("127.0.0.1", world.controller->endpoints().http_port);
    const auto page = client.request("GET", "/metrics", "", wattle::tests::soon());
    return page && page->body.find(line) != std::string::npos;
  }
  std::string refusals(const std::string& reason, int count) const {
    return "wattle_controller_refused_total{socket=\"enrol\",reason=\"" + reason + "\"} " + std::to_string(count) +
           "\n";
  }
};

}  // namespace

TEST_CASE_FIXTURE(Enrolling,
                  "an agent with only a token creates its key, enrols and is accepted, until it is revoked") {
  give_token("n0");
  auto sampler = agent::Sampler::open_(config, world.clock, 1);
  REQUIRE(sampler);
  const Record first = sampler->tick().record;
  auto link = agent::Link::open_(world.context, config, nullptr, agent::hello_of(config, *sampler, first), world.clock,
                                 world.log);
  REQUIRE(link);
  (*link)->push(first);
  const auto eventually = [&](const std::function<bool()>& done) {
    const MonoTime until = world.clock.mono() + kPatience;
    while (!done()) {
      if (world.clock.mono() > until) return false;
      (*link)->pump(*sampler);
      transport::poll({}, {}, 10ms);
    }
    return true;
  };
  REQUIRE(eventually([&] { return (*link)->values().welcomed && (*link)->values().outbox_records == 0; }));
  const auto key = KeyPair::load(config.controller.key_file);
  REQUIRE(key);
  CHECK(AllowList::load(allow)->find(key->public_key)->user_id() == "agent/n0");
  CHECK(transport::load_server_keys(config.controller.server_key_file)->current == world.server.public_key);
  CHECK(counted("wattle_controller_enrolled_total 1\n"));

  give_token("n0", 3600, true);
  const std::string text = transport::read_list(allow, false).value();
  REQUIRE(transport::write_list(allow, transport::without_keys(text, {key->public_key})));
  REQUIRE(eventually([&] { return !counted(refusals("revoked_key", 0)); }));
  CHECK_FALSE((*link)->values().welcomed);
  CHECK(AllowList::load(allow)->find(key->public_key) == nullptr);
}

TEST_CASE_FIXTURE(Enrolling, "no agent enrols without a valid token, and a metric counts the reason") {
  const std::string key = KeyPair::generate().public_key;
  const std::string before = transport::read_list(allow, false).value();
  REQUIRE(write_file_atomically(config.controller.enrol.token_file, "not-a-token-of-anybody\n", 0400));
  CHECK(enrol(key).error().code == Errc::denied);
  CHECK(counted(refusals("token", 1)));
  give_token("n0", -1);
  CHECK(enrol(key).error().what.find("has expired") != std::string::npos);
  CHECK(counted(refusals("expired", 1)));
  give_token("n1");
  CHECK(enrol(key).error().code == Errc::conflict);  // valid only for the token's node
  REQUIRE(transport::write_list(allow, before));
  give_token("n0");
  REQUIRE(enrol(key));
  CHECK(enrol(key)->current == world.server.public_key);
  CHECK(enrol(KeyPair::generate().public_key).error().what.find("has been used") != std::string::npos);
  CHECK(counted(refusals("used", 1)));
  give_token("n0");
  CHECK(enrol(KeyPair::generate().public_key).error().code == Errc::conflict);
  CHECK(counted(refusals("other_key", 1)));
}

TEST_CASE_FIXTURE(Enrolling, "a token is sent only to the controller that the authority certifies") {
  give_token("n0");
  const std::string key = KeyPair::generate().public_key;
  SUBCASE("another authority") { config.controller.enrol.ca_file = world.dir / "other.pem"; }
  SUBCASE("plain HTTP") { config.controller.enrol.tls = false; }
  SUBCASE("a token file that others may read") {
    const std::string token = http::load_token(config.controller.enrol.token_file).value();
    REQUIRE(write_file_atomically(config.controller.enrol.token_file, token + "\n", 0644));
  }
  const auto refused = enrol(key);
  REQUIRE(!refused);
  CHECK(AllowList::load(allow)->find(key) == nullptr);
  CHECK(counted("wattle_controller_enrolled_total 0\n"));
}

TEST_CASE_FIXTURE(Enrolling, "malformed requests to the endpoint are refused and have no effect") {
  http::Client client(
      http::Origin{"localhost", world.controller->endpoints().enrol_port, http::Trust{world.dir / "ca.pem", {}, {}}});
  CHECK(client.request("POST", "/api/v1/enrol", "{}", wattle::tests::soon())->status == 400);
  CHECK(client.request("GET", "/api/v1/enrol", "", wattle::tests::soon())->status == 405);
  CHECK(client.request("POST", "/api/v1/status", "", wattle::tests::soon())->status == 404);
  CHECK(client.request("POST", "/api/v1/enrol", std::string(5000, 'x'), wattle::tests::soon())->status == 413);
  client.bearer("guess-guess-guess-guess");
  CHECK(client.request("POST", "/api/v1/enrol", R"({"public_key": "\u0000"})", wattle::tests::soon())->status == 400);
  give_token("n0");
  CHECK(enrol(KeyPair::generate().public_key).has_value());
}
