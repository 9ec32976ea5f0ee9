#include "controller/power/redfish_power.hpp"

#include <doctest/doctest.h>

#include "common/http/certificate.hpp"
#include "common/json/value.hpp"
#include "tests/integration/power/bmc.hpp"
#include "tests/integration/power/rigs.hpp"
#include "tests/patience.hpp"

using namespace wattle::controller::power;
using namespace wattle::controller::power::test;
using wattle::Errc;
using wattle::Error;

namespace {

const wattle::SystemClock kBmcClock;
const Node kNode{"node"};

std::chrono::milliseconds in_time() { return wattle::tests::soon(); }

wattle::http::Response body(std::string text, int status = 200) {
  return {status, "application/json", std::move(text), {}, nullptr};
}

struct RedfishFixture {
  wattle::test::TempDir dir;
  Bmc bmc;
  std::string credentials =
      write_file(dir, "credentials", std::string(Bmc::kUser) + "\n" + Bmc::kPassword + "\n", 0400);

  RedfishPower power(RedfishConfig config = {}) const {
    config.address = "http://127.0.0.1:" + bmc.port();
    config.credentials_file = credentials;
    return {std::move(config), kBmcClock};
  }
  Error failure() const {
    const auto seen = power().observe(kNode, in_time());
    REQUIRE_FALSE(seen);
    CHECK(seen.error().message().find(Bmc::kPassword) == std::string::npos);
    return seen.error();
  }
};

}  // namespace

TEST_CASE_FIXTURE(RedfishFixture, "an observation has the chassis's watts") {
  CHECK(power().observe(kNode, in_time())->power_w == 95.0);
  bmc.put_state("Off");
  CHECK(power().observe(kNode, in_time())->power_w == 9.75);
  CHECK(power().probe(kNode, in_time())->asleep_w == 9.75);
  bmc.answers("GET /redfish/v1/Chassis/1", body(R"({"Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"},
    "Links": {"ComputerSystems": [{}, {}]}})"));
  CHECK_FALSE(power().observe(kNode, in_time())->power_w);  // a meter shared by two machines
  bmc.answers("GET /redfish/v1/Chassis/1", body("", 500));
  CHECK(power().observe(kNode, in_time())->state == PowerState::off);
}

TEST_CASE_FIXTURE(RedfishFixture, "a node is shut down gracefully, with one order") {
  REQUIRE(power().sleep(kNode, Depth::off, {1, in_time()}));
  REQUIRE(power().sleep(kNode, Depth::off, {1, in_time()}));
  CHECK(bmc.resets() == std::vector<std::string>{R"({"ResetType":"GracefulShutdown"})"});
}

TEST_CASE_FIXTURE(RedfishFixture, "a node in transition gets no second order") {
  bmc.put_state("PoweringOff");
  CHECK(power().sleep(kNode, Depth::off, {1, in_time()}));
  bmc.put_state("PoweringOn");
  CHECK(power().wake(kNode, {2, in_time()}));
  CHECK(bmc.resets().empty());
}

TEST_CASE_FIXTURE(RedfishFixture, "a node whose transition does not end gets the order at the second attempt") {
  bmc.put_state("PoweringOn");
  REQUIRE(power().wake(kNode, {3, in_time(), 1}));
  CHECK(bmc.resets().empty());
  REQUIRE(power().wake(kNode, {4, in_time(), 2}));
  CHECK(bmc.resets() == std::vector<std::string>{R"({"ResetType":"On"})"});
  bmc.put_state("On");
  REQUIRE(power().wake(kNode, {5, in_time(), 3}));
  CHECK(bmc.resets().size() == 1);
}

TEST_CASE_FIXTURE(RedfishFixture, "a BMC that only supports forced power-off does not put a node to sleep") {
  bmc.reset_types(R"(["On", "ForceOff", "ForceRestart"])");
  const auto able = power().probe(kNode, in_time());
  REQUIRE(able);
  CHECK(able->depths.empty());
  CHECK(able->can_wake);
  CHECK(power().sleep(kNode, Depth::off, {1, in_time()}).error().code == Errc::unsupported);
  CHECK(bmc.resets().empty());
  CHECK(power().sleep(kNode, Depth::suspend, {1, in_time()}).error().code == Errc::unsupported);
}

TEST_CASE_FIXTURE(RedfishFixture, "an order that is refused because it is already fulfilled succeeds") {
  bmc.fulfils_and_refuses();
  CHECK(power().sleep(kNode, Depth::off, {1, in_time()}));
  CHECK(bmc.resets().size() == 1);
}

TEST_CASE_FIXTURE(RedfishFixture, "an order that is refused is an error with the BMC's message") {
  bmc.answers(std::string("POST ") + Bmc::kReset, body(R"({"error": {"message": "firmware update"}})", 409));
  const auto refused = power().sleep(kNode, Depth::off, {1, in_time()});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::conflict);
  CHECK(refused.error().what == "the BMC answers 409: firmware update");
}

TEST_CASE_FIXTURE(RedfishFixture, "a redirect is followed neither on this host nor to another") {
  const Bmc other;
  for (const int status : {301, 302, 307, 308}) {
    wattle::http::Response away = body("", status);
    away.headers = {{"Location", "http://127.0.0.1:" + other.port() + Bmc::kSystem}};
    bmc.answers("GET /redfish/v1/Systems", away);
    CHECK(failure().code == Errc::malformed);
    CHECK(failure().fix.find("redirect") != std::string::npos);
  }
  CHECK(other.seen().empty());
}

TEST_CASE_FIXTURE(RedfishFixture, "a link to another host is refused before a request") {
  const Bmc other;
  const std::string away = "http://127.0.0.1:" + other.port() + Bmc::kSystem;
  bmc.answers("GET /redfish/v1/Systems", body(R"({"Members": [{"@odata.id": ")" + away + "\"}]}"));
  CHECK(failure().code == Errc::malformed);
  bmc.answers("GET /redfish/v1/Systems",
              body(R"({"Members": [{"@odata.id": "//127.0.0.1:)" + other.port() + R"(/redfish/v1/Systems/1"}]})"));
  CHECK(failure().code == Errc::malformed);
  CHECK(other.seen().empty());
}

TEST_CASE_FIXTURE(RedfishFixture, "an error keeps the BMC's message without the secrets in it") {
  const std::string pair = wattle::base64_encode(std::string(Bmc::kUser) + ":" + Bmc::kPassword);
  const std::string json = wattle::OrderedJson(std::string(Bmc::kPassword)).dump();
  bmc.answers("GET /redfish/v1/Systems", body(R"({"error": {"message": "the user with )" + pair + " and " +
                                                  json.substr(1, json.size() - 2) + R"( is locked"}})",
                                              403));
  const Error denied = failure();
  CHECK(denied.code == Errc::denied);
  CHECK(denied.what.find("the user with *** and ***") != std::string::npos);
  CHECK(denied.fix.find(credentials) != std::string::npos);
  bmc.answers("GET /redfish/v1/Systems", body("plain " + std::string(Bmc::kPassword) + " words", 500));
  CHECK(failure().what == "the BMC answers 500: plain *** words");
}

TEST_CASE_FIXTURE(RedfishFixture, "malformed bodies are errors") {
  for (const std::string& text :
       {std::string(), std::string("<html>"), std::string("null"), std::string("[[]]"), std::string(200'000, '['),
        "{\"Members\": \"" + std::string(2'000'000, 'a') + "\"}", std::string("{\"Members\": [{\"@odata.id\": 7}]}")}) {
    CAPTURE(text.substr(0, 40));
    bmc.answers("GET /redfish/v1/Systems", body(text));
    const Errc code = failure().code;
    CHECK((code == Errc::malformed || code == Errc::out_of_range || code == Errc::not_found));
  }
}

TEST_CASE_FIXTURE(RedfishFixture, "HTTP statuses map to error codes") {
  for (const auto& [status, code] :
       {std::pair{403, Errc::denied}, std::pair{404, Errc::not_found}, std::pair{409, Errc::conflict},
        std::pair{429, Errc::unavailable}, std::pair{503, Errc::unavailable}, std::pair{504, Errc::timeout},
        std::pair{400, Errc::io}}) {
    bmc.answers("GET /redfish/v1/Systems", body("", status));
    CHECK(failure().code == code);
  }
}

TEST_CASE_FIXTURE(RedfishFixture, "a session is opened with the credentials, used with its token, and closed") {
  bmc.refuse_basic();
  CHECK(power().observe(kNode, in_time()).error().code == Errc::denied);
  const std::size_t before = bmc.seen().size();
  RedfishConfig config;
  config.session = true;
  REQUIRE(power(config).observe(kNode, in_time()));
  auto seen = bmc.seen();
  seen.erase(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(before));
  CHECK(seen.front().what == "POST /redfish/v1/SessionService/Sessions");
  CHECK(seen.back().what == "DELETE /redfish/v1/SessionService/Sessions/7");
  for (const Bmc::Seen& one : seen) CHECK(one.authorization.empty());
}

TEST_CASE("a BMC with another certificate gets no request") {
  const wattle::test::TempDir dir;
  const auto made = wattle::http::self_signed({"bmc.example"}, kBmcClock.wall(), std::chrono::hours(48));
  REQUIRE(made);
  const Bmc bmc({write_file(dir, "bmc.pem", made->certificate, 0644), write_file(dir, "bmc.key", made->key, 0400), ""});
  RedfishConfig config;
  config.address = "https://127.0.0.1:" + bmc.port();
  config.credentials_file =
      write_file(dir, "credentials", std::string(Bmc::kUser) + "\n" + Bmc::kPassword + "\n", 0400);
  config.fingerprint = std::string(64, 'a');
  const auto other = RedfishPower(config, kBmcClock).observe(kNode, in_time());
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Errc::denied);
  CHECK(other.error().fix == "check redfish.ca_file and redfish.fingerprint");
  config.fingerprint.clear();
  CHECK(RedfishPower(config, kBmcClock).observe(kNode, in_time()).error().code == Errc::denied);
  CHECK(bmc.seen().empty());
  config.fingerprint = *wattle::http::certificate_file_fingerprint(dir.file("bmc.pem"));
  CHECK(RedfishPower(config, kBmcClock).observe(kNode, in_time()));
}

TEST_CASE_FIXTURE(RedfishFixture, "credentials that others can read are not used") {
  credentials = write_file(dir, "open", "wattle\nsecret\n", 0644);
  const auto seen = power().observe(kNode, in_time());
  REQUIRE_FALSE(seen);
  CHECK(seen.error().code == Errc::denied);
  CHECK(seen.error().subject == credentials);
  CHECK(bmc.seen().empty());
}
