// Rates and latencies from a Prometheus: each shape of answer, and a fake server that answers, fails, hangs and
// recovers.
#include "controller/provision/prometheus.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <mutex>

#include "common/dir.hpp"
#include "common/http/server.hpp"
#include "common/http/target.hpp"
#include "common/json/value.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using Said = wattle::SortedJson;

namespace {

Said one_series(Said labels, const std::string& value) {
  return {{"metric", std::move(labels)}, {"value", {1764134400.781, value}}};
}

std::string vector_of(const std::vector<Said>& series) {
  return Said{{"status", "success"}, {"data", {{"resultType", "vector"}, {"result", series}}}}.dump();
}

std::string one(const std::string& value) { return vector_of({one_series({{"workload", "a.service"}}, value)}); }

void write(const std::string& file, const std::string& text) { std::ofstream(file) << text; }

Error refused(const std::string& body) {
  const auto values = parse_prometheus(body, 1e9, "http://p:9090, rate_query");
  REQUIRE_FALSE(values);
  CHECK(values.error().message().find("http://p:9090, rate_query") != std::string::npos);
  return values.error();
}

// Answers each query as configured, and records the queries.
class StandIn {
 public:
  StandIn() {
    http::Routes routes;
    routes["POST /prefix/api/v1/query"].max_body_bytes = 64 << 10;
    routes["POST /prefix/api/v1/query"].handler = [this](const http::Request& request) {
      const std::lock_guard lock(mutex_);
      const auto form = http::parse_target("/?" + request.body);
      const std::string query = form ? form->query.at("query") : "";
      asked_.push_back(query);
      authorization_ = request.authorization;
      return answers_.contains(query) ? answers_.at(query) : http::Response{404, "text/plain", "nothing"};
    };
    server_.emplace(http::Server::start({}, std::move(routes), log_).value());
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()) + "/prefix/"; }
  void say(const std::string& query, http::Response response) {
    const std::lock_guard lock(mutex_);
    answers_[query] = std::move(response);
  }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  std::string authorization() const {
    const std::lock_guard lock(mutex_);
    return authorization_;
  }

 private:
  Log log_ = Log::silent();
  mutable std::mutex mutex_;
  std::map<std::string, http::Response> answers_;
  std::vector<std::string> asked_;
  std::string authorization_;
  std::optional<http::Server> server_;
};

struct AskingRig {
  AskingRig() {
    config.url = stand_in.url();
    config.rate_query = "rate{x=\"a&b\"} + 1";
    config.late_query = "late";
    config.timeout = std::chrono::seconds(30);
    stand_in.say(config.rate_query, {200, "application/json", one("12.5")});
    stand_in.say("late", {200, "application/json", one("0.02")});
  }
  void make() { rates = PrometheusRates::make(config, clock, log).value(); }
  PrometheusFigures::Query figures(TrafficQuery query) const {
    return rates->figures().queries[static_cast<std::size_t>(query)];
  }
  Traffic traffic() const { return rates->traffic("n1", "a.service"); }

  StandIn stand_in;
  PrometheusConfig config;
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  Log log = Log::silent();
  std::unique_ptr<PrometheusRates> rates;
};

}  // namespace

TEST_CASE("a Prometheus vector becomes a number for each workload that its labels name") {
  const auto values = parse_prometheus(
      vector_of({one_series({{"workload", "a.service"}}, "12.5"),
                 one_series({{"workload", "a.service"}, {"node", "n1"}}, "3"),
                 one_series({{"workload", "Deployment/web"}, {"namespace", "shop"}, {"job", "x"}}, "0")}),
      1e9, "p");
  REQUIRE(values);
  CHECK(values->values == std::map<TrafficKey, double>{
                              {{"", "a.service"}, 12.5}, {{"n1", "a.service"}, 3}, {{"", "shop/Deployment/web"}, 0}});
  CHECK(values->no_number + values->out_of_range + values->unnamed + values->twice == 0);
  CHECK(parse_prometheus(vector_of({}), 1, "p").value().values.empty());
}

TEST_CASE("values that are not numbers, out of range, unnamed or duplicate are dropped and counted") {
  for (const char* text : {"NaN", "+Inf", "-Inf"}) CHECK(parse_prometheus(one(text), 1, "p").value().no_number == 1);
  for (const char* text : {"-1", "1.1", "100000000000000000000000000000000"}) {
    const auto values = parse_prometheus(one(text), 1, "p").value();
    CHECK(values.out_of_range == 1);
    CHECK(values.values.empty());
    CHECK(values.example.find("a.service") != std::string::npos);
  }
  CHECK(parse_prometheus(one("1.0000000001"), 1, "p").value().values.begin()->second == 1);
  const Said named = one_series({{"workload", "a"}}, "1");
  const auto values = parse_prometheus(
      vector_of({named, one_series({{"job", "a"}}, "1"), named, one_series({{"workload", "b"}}, "2"), named}), 10, "p");
  REQUIRE(values);
  CHECK(values->twice == 3);
  CHECK(values->unnamed == 1);
  CHECK(values->values == std::map<TrafficKey, double>{{{"", "b"}, 2}});
  const Said native = {{"metric", {{"workload", "a"}}}, {"histogram", {1, {{"count", "1"}}}}};
  CHECK(parse_prometheus(vector_of({native}), 10, "p").value().out_of_range == 1);
}

TEST_CASE("a malformed answer is refused as a whole, and the error names the server and the query") {
  const std::string open = R"({"status":"success","data":{"resultType":"vector","result":)";
  const std::vector<std::string> bodies = {"",
                                           "{",
                                           "<html>",
                                           "[]",
                                           "null",
                                           "{}",
                                           "7",
                                           std::string(100'000, '['),
                                           R"({"status":7})",
                                           R"({"status":"success"})",
                                           R"({"status":"success","data":[]})",
                                           R"({"status":"success","data":{"resultType":"scalar","result":[1,"2"]}})",
                                           R"({"status":"success","data":{"resultType":"matrix","result":[]}})",
                                           open + "{}}}",
                                           open + "[7]}}",
                                           open + "[{}]}}",
                                           open + R"([{"metric":{"workload":7},"value":[1,"2"]}]}})",
                                           open + R"([{"metric":{"workload":"a"}}]}})",
                                           open + R"([{"metric":{"workload":"a"},"value":"2"}]}})",
                                           open + R"([{"metric":{"workload":"a"},"value":[1,2]}]}})",
                                           open + R"([{"metric":{"workload":"a"},"value":["1","2"]}]}})",
                                           open + R"([{"metric":{"workload":"a"},"value":[1]}]}})",
                                           one("1 "),
                                           one(""),
                                           one("0x10"),
                                           one("1e999"),
                                           one("nan(1)")};
  for (const std::string& body : bodies) {
    CAPTURE(body.substr(0, 100));
    CHECK(refused(body).code == Errc::malformed);
  }
  const std::vector<Said> many(kMostSeries + 1, one_series({{"workload", "a"}}, "1"));
  CHECK(refused(vector_of(many)).what.find("20000") != std::string::npos);
  const Error own = refused(R"({"status":"error","errorType":"bad_data","error":"parse error: unclosed"})");
  CHECK(own.code == Errc::unavailable);
  CHECK(own.what == "answers bad_data: parse error: unclosed");
  CHECK(refused(R"({"status":"error","error":")" + std::string(100'000, 'x') + "\"}").what.size() < 300);
}

TEST_CASE_FIXTURE(AskingRig, "the configured queries are sent with the token, and each workload is reported") {
  const wattle::test::TempDir dir;
  write(dir.file("token"), "word-of-the-token\n");
  config.token_file = dir.file("token");
  config.latency_query = "p99";
  config.target = std::chrono::milliseconds(100);
  stand_in.say("p99", {200, "application/json", one("0.25")});
  make();
  CHECK_FALSE(traffic().rate_rps);
  rates->turn();
  CHECK(stand_in.asked() == std::vector<std::string>{config.rate_query, "late", "p99"});
  CHECK(stand_in.authorization() == "Bearer word-of-the-token");
  CHECK(traffic().rate_rps == 12.5);
  CHECK(traffic().late_ratio == 0.02);
  CHECK(*traffic().p99_over_target == doctest::Approx(2.5));
  CHECK_FALSE(rates->traffic("n1", "b.service").rate_rps);
  CHECK(figures(TrafficQuery::rate).series == 1);
  CHECK(figures(TrafficQuery::rate).problem.empty());
  write(dir.file("token"), "two words");
  rates->turn();
  CHECK(figures(TrafficQuery::late).problem.find("contains no token") != std::string::npos);
}

TEST_CASE_FIXTURE(AskingRig,
                  "the last answer of a failing query is kept until it is too old, and other queries continue") {
  make();
  rates->turn();
  const std::string words = R"({"status":"error","errorType":"execution","error":"too many samples"})";
  stand_in.say(config.rate_query, {422, "application/json", words});
  clock.advance(config.interval);
  rates->turn();
  CHECK(traffic().rate_rps == 12.5);
  CHECK(figures(TrafficQuery::rate).failures == 1);
  CHECK(figures(TrafficQuery::rate).problem.find("too many samples") != std::string::npos);
  CHECK(figures(TrafficQuery::rate).problem.find("provisioning.prometheus.rate_query") != std::string::npos);
  CHECK(figures(TrafficQuery::rate).problem.find(config.url) != std::string::npos);
  for (int i = 0; i < 3; ++i) {
    clock.advance(config.interval);
    rates->turn();
  }
  CHECK_FALSE(traffic().rate_rps);
  CHECK(traffic().late_ratio == 0.02);
  CHECK(figures(TrafficQuery::late).answers == 5);
  stand_in.say(config.rate_query, {200, "application/json", one("7")});
  rates->turn();
  CHECK(traffic().rate_rps == 7);
  CHECK(figures(TrafficQuery::rate).problem.empty());
}

TEST_CASE_FIXTURE(AskingRig, "a server that does not answer as Prometheus does, or answers too much, gives no values") {
  make();
  const auto problem_of = [this](http::Response response) {
    stand_in.say(config.rate_query, std::move(response));
    rates->turn();
    CHECK_FALSE(traffic().rate_rps);
    return figures(TrafficQuery::rate).problem;
  };
  CHECK(problem_of({502, "text/html", "<html>"}).find("HTTP 502") != std::string::npos);
  CHECK(problem_of({500, "application/json", one("1")}).find("HTTP 500") != std::string::npos);
  CHECK(problem_of({401, "text/plain", "no"}).find("prometheus.token") != std::string::npos);
  CHECK(problem_of({200, "text/html", "<html>"}).find("the answer is not JSON") != std::string::npos);
  CHECK_FALSE(problem_of({200, "application/json", std::string((8U << 20U) + 1, ' ')}).empty());
  CHECK(problem_of({200, "application/json", vector_of({one_series({{"job", "a"}}, "1")})})
            .find("without label workload") != std::string::npos);
  CHECK(traffic().late_ratio == 0.02);
}

TEST_CASE("a request to a server that never answers ends when the client is destroyed") {
  // Connections wait in the backlog.
  const Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  REQUIRE(::bind(silent.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
  REQUIRE(::listen(silent.get(), 8) == 0);
  REQUIRE(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
  PrometheusConfig config;
  config.url = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  config.rate_query = "rate";
  config.timeout = std::chrono::milliseconds(50);
  const SystemClock clock;
  const Log log = Log::silent();
  const auto rates = PrometheusRates::make(config, clock, log).value();
  rates->turn();
  CHECK(rates->figures().queries[0].failures == 1);
  config.timeout = std::chrono::hours(1);
  CHECK(PrometheusRates::start(config, clock, log).value()->figures().queries[0].answers == 0);
}

TEST_CASE("an invalid address is refused before any query is sent") {
  for (const char* url :
       {"prometheus:9090", "http://", "http://user:word@p:9090", "http://p:9090/?a=b", "ftp://p", "http://p:0"}) {
    PrometheusConfig config;
    config.url = url;
    CHECK_FALSE(prometheus_url(config));
  }
  PrometheusConfig config;
  config.url = "https://p/prefix//";
  config.ca_file = "/ca.pem";
  CHECK(prometheus_url(config)->target == "/prefix");
  CHECK(prometheus_url(config)->origin.tls->ca_file == "/ca.pem");
}
