// A running shim over real sockets against a controller with scripted answers.
#include "shim/service.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <string>

#include "common/dir.hpp"
#include "common/http/client.hpp"
#include "common/json/value.hpp"
#include "tests/integration/shim/world.hpp"
#include "tests/patience.hpp"
#include "tests/unit/http/certificates.hpp"

using namespace std::chrono_literals;
using namespace wattle;
using tests::World;

namespace {

std::string request(int pod, const std::string& names = R"(["a","b","new"])") {
  return R"({"Pod":{"metadata":{"uid":"pod-)" + std::to_string(pod) +
         R"("},"spec":{"schedulerName":"wattle","containers":[]}},"Nodes":null,"NodeNames":)" + names + "}";
}

const std::string kFromController = R"([{"Host":"a","Score":10},{"Host":"b","Score":4},{"Host":"new","Score":4}])";
const std::string kFromBoard = R"([{"Host":"a","Score":1},{"Host":"b","Score":10}])";
const std::string kNeutral = "[]";

// Like BootClock on a machine that a test suspends.
struct MachineClock final : Clock {
  SystemClock system;
  std::atomic<int> suspended_s = 0;
  MonoTime mono() const override { return system.mono() + std::chrono::seconds(suspended_s); }
  WallTime wall() const override { return system.wall(); }
};

// Asks for one new pod after another until the expected answer; each answer before it must be one of the three kinds.
bool comes_to(http::Client& client, const std::string& wanted, int& pod) {
  const SystemClock clock;
  const MonoTime until = clock.mono() + wattle::tests::soon();
  while (clock.mono() < until) {
    const auto answer = client.request("POST", "/prioritize", request(++pod), wattle::tests::soon());
    REQUIRE(answer);
    REQUIRE(answer->status == 200);
    if (answer->body == wanted) return true;
    REQUIRE((answer->body == kNeutral || answer->body == kFromBoard || answer->body == kFromController));
  }
  return false;
}

}  // namespace

TEST_CASE("the shim answers from the controller, the board, or neutrally, and recovers") {
  World world;
  world.start_controller();
  auto service = shim::Service::start(world.config(), world.clock, world.log, world.notify);
  REQUIRE(service);
  http::Client client("127.0.0.1", service->port());
  int pod = 0;
  CHECK(comes_to(client, kFromController, pod));

  world.controller->hung = true;
  CHECK(comes_to(client, kFromBoard, pod));
  world.controller->ttl_ms = 1;  // stale when the deadline passes
  CHECK(comes_to(client, kNeutral, pod));
  world.controller->hung = false;
  world.controller->ttl_ms = 60'000;
  CHECK(comes_to(client, kFromController, pod));

  const std::string ask = world.controller->ask_endpoint, feed = world.controller->feed_endpoint;
  world.controller.reset();
  CHECK(comes_to(client, kFromBoard, pod));
  world.start_controller(ask, feed);
  CHECK(comes_to(client, kFromController, pod));

  const auto metrics = client.request("GET", "/metrics", "", wattle::tests::soon());
  REQUIRE(metrics);
  CHECK(metrics->body.find("wattle_shim_answers_total{reason=\"scored\",source=\"controller\"}") != std::string::npos);
  CHECK(metrics->body.find("wattle_shim_answers_total{reason=\"board_stale\",source=\"neutral\"}") !=
        std::string::npos);
  CHECK(metrics->body.find("wattle_shim_request_duration_seconds_bucket{verb=\"prioritize\"") != std::string::npos);
}

TEST_CASE("a board from before a machine suspend is not used after it, and the next board is used") {
  World world;
  world.start_controller();
  world.controller->hung = true;
  MachineClock clock;
  auto service = shim::Service::start(world.config(), clock, world.log, world.notify);
  REQUIRE(service);
  http::Client client("127.0.0.1", service->port());
  int pod = 0;
  CHECK(comes_to(client, kFromBoard, pod));
  clock.suspended_s += 3600;
  CHECK(comes_to(client, kFromBoard, pod));  // the feed has subscribed again

  world.controller.reset();
  CHECK(comes_to(client, kFromBoard, pod));
  clock.suspended_s += 3600;
  const auto answer = client.request("POST", "/prioritize", request(++pod), wattle::tests::soon());
  REQUIRE(answer);
  CHECK(answer->body == kNeutral);
}

TEST_CASE("a hanging controller is not asked after three misses, and is asked again when it answers") {
  World world;
  world.start_controller();
  auto service = shim::Service::start(world.config(), world.clock, world.log, world.notify);
  REQUIRE(service);
  http::Client client("127.0.0.1", service->port());
  const auto page = [&](const char* path) { return client.request("GET", path, "", wattle::tests::soon())->body; };
  int pod = 0;
  CHECK(comes_to(client, kFromController, pod));
  world.controller->hung = true;
  while (page("/metrics").find("wattle_shim_breaker_state{state=\"closed\"} 0\n") == std::string::npos)
    CHECK(client.request("POST", "/prioritize", request(++pod), wattle::tests::soon())->status == 200);
  const int asks = world.controller->asks;
  for (int i = 0; i < 50; ++i)
    CHECK(client.request("POST", "/prioritize", request(++pod), wattle::tests::soon())->body == kFromBoard);
  CHECK(world.controller->asks == asks);
  CHECK(page("/metrics").find("wattle_shim_answers_total{reason=\"breaker_open\",source=\"board\"}") !=
        std::string::npos);
  CHECK(page("/readyz").starts_with("ok\n"));
  CHECK(page("/livez") == "ok\n");
  world.controller->hung = false;
  CHECK(comes_to(client, kFromController, pod));
  CHECK(page("/metrics").find("wattle_shim_breaker_opened_total 1\n") != std::string::npos);
}

TEST_CASE("the shim reports to the controller its schedulers, request counts and unknown paths") {
  World world;
  world.start_controller();
  auto service = shim::Service::start(world.config(), world.clock, world.log, world.notify);
  REQUIRE(service);
  http::Client client("127.0.0.1", service->port());
  int pod = 0;
  CHECK(comes_to(client, kFromController, pod));
  CHECK(client.request("POST", "/prioritise", request(++pod), wattle::tests::soon())->status == 404);
  const auto reported = [&](const char* key) {
    const std::lock_guard lock(world.controller->beat_mutex);
    return world.controller->beat.contains(key) ? world.controller->beat.at(key) : std::string();
  };
  wattle::tests::wait_until([&] { return reported("wrong_paths") == "1"; });
  CHECK(reported("wrong_paths") == "1");
  CHECK(reported("asked") == std::to_string(pod - 1));
  CHECK_FALSE(reported("host").empty());
  CHECK(reported("schedulers") == "wattle");
}

TEST_CASE("unusual requests are answered as the protocol requires") {
  World world;
  world.start_controller();
  auto service = shim::Service::start(world.config(), world.clock, world.log, world.notify);
  REQUIRE(service);
  http::Client client("127.0.0.1", service->port());
  CHECK(client.request("POST", "/prioritize", request(1, "[]"), wattle::tests::soon())->body == "[]");
  CHECK(client.request("POST", "/prioritize", request(1, "null"), wattle::tests::soon())->body == "[]");
  const auto one = client.request("POST", "/prioritize", request(2, R"(["a"])"), wattle::tests::soon());
  CHECK(wattle::SortedJson::parse(one->body).size() == 1);
  const auto wrong = client.request("POST", "/prioritize", R"({"Pod":{},"NodeNames":[1]})", wattle::tests::soon());
  CHECK(wrong->status == 400);
  CHECK(wrong->body.find("NodeNames[0]") != std::string::npos);
  CHECK(client.request("POST", "/prioritize", "garbage", wattle::tests::soon())->status == 400);
  CHECK(client.request("GET", "/livez", "", wattle::tests::soon())->status == 200);
  CHECK(client.request("GET", "/readyz", "", wattle::tests::soon())->status == 200);
  CHECK(client.request("POST", "/filter", "{}", wattle::tests::soon())->status == 400);
}

TEST_CASE("filter vetoes by a hard latency limit if enabled, and passes every node on any failure") {
  World world;
  world.start_controller();
  shim::ShimConfig config = world.config();
  const auto limited = [](const std::string& target) {
    return R"({"Pod":{"metadata":{"uid":"u","annotations":{"wattle.dev/latency-hard-ms":"30","wattle.dev/latency-target":")" +
           target + R"("}},"spec":{"containers":[]}},"Nodes":null,"NodeNames":["b","a","new"]})";
  };
  const auto passed = [](http::Client& client, const std::string& body) {
    const auto answer = client.request("POST", "/filter", body, wattle::tests::soon());
    REQUIRE(answer);
    REQUIRE(answer->status == 200);
    const auto reply = wattle::SortedJson::parse(answer->body);
    CHECK(reply["Error"] == "");
    return reply.value("NodeNames", wattle::SortedJson());
  };
  const wattle::SortedJson all{"b", "a", "new"};
  {
    auto off = shim::Service::start(config, world.clock, world.log, world.notify);
    REQUIRE(off);
    http::Client client("127.0.0.1", off->port());
    CHECK(passed(client, limited("users")) == all);
  }
  config.filter = true;
  auto service = shim::Service::start(config, world.clock, world.log, world.notify);
  REQUIRE(service);
  http::Client client("127.0.0.1", service->port());
  const MonoTime until = world.clock.mono() + wattle::tests::soon();
  while (passed(client, limited("users")) != wattle::SortedJson{"a"} && world.clock.mono() < until) {
  }
  CHECK(passed(client, limited("users")) == wattle::SortedJson{"a"});
  CHECK(passed(client, limited("nobody knows")) == all);
  CHECK(passed(client, R"({"Pod":3,"NodeNames":["b","a","new"]})") == all);
  const auto whole = client.request("POST", "/filter", R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"b"}}]}})",
                                    wattle::tests::soon());
  CHECK(wattle::SortedJson::parse(whole->body)["Nodes"]["items"].size() == 1);
  world.controller.reset();
  while (passed(client, limited("users")) != all && world.clock.mono() < until + wattle::tests::soon()) {
  }
  CHECK(passed(client, limited("users")) == all);
  const auto metrics = client.request("GET", "/metrics", "", wattle::tests::soon());
  for (const char* line :
       {"wattle_shim_filters_total{reason=\"judged\"}", "wattle_shim_filters_total{reason=\"whole_nodes\"} 1",
        "wattle_shim_filters_total{reason=\"malformed\"}", "wattle_shim_vetoed_nodes_total",
        "wattle_shim_request_duration_seconds_bucket{verb=\"filter\""})
    CHECK(metrics->body.find(line) != std::string::npos);
}

TEST_CASE("a shim whose key is not allowed answers neutrally") {
  World world;
  world.allow = {};
  world.start_controller();
  auto service = shim::Service::start(world.config(), world.clock, world.log, world.notify);
  REQUIRE(service);
  http::Client client("127.0.0.1", service->port());
  for (int pod = 0; pod < 3; ++pod)
    CHECK(client.request("POST", "/prioritize", request(pod), wattle::tests::soon())->body == kNeutral);
}

TEST_CASE("over TLS only clients with the scheduler's certificate are answered, and others are counted") {
  World world;
  world.start_controller();
  ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to a refused connection
  using namespace http::test;
  const Signed authority = make_certificate("authority", nullptr);
  const Signed own = make_certificate("shim", &authority), scheduler = make_certificate("scheduler", &authority);
  const Signed expired = make_certificate("scheduler", &authority, -60);
  shim::ShimConfig config = world.config();
  config.listen_access.tls = {(world.folder / "shim.pem").string(), (world.folder / "tls.key").string(),
                              (world.folder / "ca.pem").string()};
  write_certificate(own, config.listen_access.tls.certificate);
  write_key(own, config.listen_access.tls.key);
  write_certificate(authority, config.listen_access.tls.client_ca);
  auto service = shim::Service::start(config, world.clock, world.log, world.notify);
  REQUIRE(service);
  const std::string body = request(1);
  const std::string ask =
      "POST /prioritize HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  CHECK(ask_over_tls(service->port(), ask, authority).text.empty());
  CHECK(ask_over_tls(service->port(), ask, authority, &expired).text.empty());
  CHECK(ask_over_tls(service->port(), ask, authority, &scheduler).text.starts_with("HTTP/1.1 200 "));
  const std::string look = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const std::string page = ask_over_tls(service->port(), look, authority, &scheduler).text;
  CHECK(page.find("wattle_shim_refused_total{reason=\"tls\"} 2\n") != std::string::npos);
}

TEST_CASE("the second endpoint serves pages but no asks, and metrics of both endpoints require the token") {
  World world;
  world.start_controller();
  auto config = world.config();
  config.http_port = 0;
  config.http_access.token_file = (world.folder / "token").string();
  std::filesystem::remove(config.http_access.token_file);
  REQUIRE(write_file_atomically(config.http_access.token_file, "0123456789abcdef", 0400));
  const auto service = shim::Service::start(config, world.clock, world.log, world.notify);
  REQUIRE(service);
  REQUIRE(service->http_port());
  REQUIRE(*service->http_port() != service->port());
  http::Client pages("127.0.0.1", *service->http_port());
  const auto status = [&](const char* method, const char* path) {
    const auto answer = pages.request(method, path, "", wattle::tests::soon());
    return answer ? answer->status : 0;
  };
  CHECK(status("GET", "/livez") == 200);
  CHECK(status("GET", "/readyz") == 200);
  CHECK(status("GET", "/metrics") == 401);
  CHECK(status("POST", "/prioritize") == 401);
  pages.bearer("0123456789abcdef");
  CHECK(status("GET", "/metrics") == 200);
  CHECK(status("POST", "/prioritize") == 404);
  http::Client extender("127.0.0.1", service->port());
  const auto from_extender = [&](const char* method, const char* path, const std::string& body) {
    const auto answer = extender.request(method, path, body, wattle::tests::soon());
    return answer ? answer->status : 0;
  };
  CHECK(from_extender("GET", "/livez", "") == 200);
  CHECK(from_extender("POST", "/prioritize", request(1)) == 200);
  CHECK(from_extender("GET", "/metrics", "") == 401);
  extender.bearer("0123456789abcdeX");
  CHECK(from_extender("GET", "/metrics", "") == 401);
  extender.bearer("0123456789abcdef");
  CHECK(from_extender("GET", "/metrics", "") == 200);
}

TEST_CASE("a missing key file is an error at start that names the file") {
  World world;
  world.start_controller();
  auto config = world.config();
  config.key_file = (world.folder / "none.key").string();
  const auto service = shim::Service::start(config, world.clock, world.log, world.notify);
  REQUIRE_FALSE(service);
  CHECK(service.error().subject.find("none.key") != std::string::npos);
}
