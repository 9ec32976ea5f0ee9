// sleep_post: POST /api/v1/sleep/order: permissions, valid bodies, and the status of each answer.
#include "controller/web/sleep_post.hpp"

#include <doctest/doctest.h>

#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::controller;
using json = wattle::SortedJson;

namespace {

constexpr const char* kOperatorWord = "an-operators-word-1";

struct OrderRig {
  std::optional<http::Token> operators;
  http::Request request{"POST", std::string(kSleepPost), {}, R"({"order": "sleep-wake", "node": "n1"})", {}};
  std::vector<Arguments> asked;
  std::string who;
  std::optional<Error> fails;

  OrderRig() {
    const wattle::test::TempDir dir;
    REQUIRE(write_file_atomically(dir.file("operator"), kOperatorWord, 0400));
    operators = *load_operators(dir.file("operator"), std::nullopt);
    request.authorization = std::string("Bearer ") + kOperatorWord;
    request.headers = {{"content-type", "application/json"}};
    request.from = "192.0.2.7";
  }
  http::Response ask() {
    http::Routes routes;
    std::set<std::string> open;
    add_sleep_post(routes, open, operators, [this](const Arguments& given, const std::string& author) {
      asked.push_back(given);
      who = author;
      return fails ? Result<std::string>(tl::unexpected<Error>(*fails)) : Result<std::string>(R"({"woken": ["n1"]})");
    });
    CHECK(open == std::set<std::string>{std::string(kSleepPost)});
    return routes.at("POST /api/v1/sleep/order").handler(request);
  }
  int status() { return ask().status; }
};

}  // namespace

TEST_CASE("an order over HTTP has the effect of the query, and records its origin") {
  OrderRig rig;
  const http::Response response = rig.ask();
  CHECK(response.status == 200);
  CHECK(json::parse(response.body)["woken"][0] == "n1");
  REQUIRE(rig.asked.size() == 1);
  CHECK(rig.asked[0] == Arguments{{"order", "sleep-wake"}, {"node", "n1"}});
  CHECK(rig.who == "http/192.0.2.7");
}

TEST_CASE("an order over HTTP needs the operator's token and JSON") {
  OrderRig rig;
  rig.request.headers["content-type"] = "text/plain";
  CHECK(rig.status() == 415);
  for (const char* wrong : {"", "Bearer x", "Bearer an-operators-word-2"}) {
    rig.request.authorization = wrong;
    CHECK(rig.status() == 401);
  }
  rig.operators.reset();
  const http::Response response = rig.ask();
  CHECK(response.status == 403);
  CHECK(response.body.find("http.operator_token_file") != std::string::npos);
  CHECK(rig.asked.empty());
}

TEST_CASE("an order over HTTP with an invalid body is refused, and the answer shows the form") {
  OrderRig rig;
  for (const char* body : {"", "x", "[]", "{}", R"({"order": "sleep-wake"})", R"({"order": "sleep-now", "node": "n1"})",
                           R"({"order": "sleep-wake", "node": ""})", R"({"order": "sleep-wake", "node": 1})",
                           R"({"order": "sleep-exclude", "node": "n1"})"}) {
    CAPTURE(body);
    rig.request.body = body;
    const http::Response response = rig.ask();
    CHECK(response.status == 400);
    CHECK(json::parse(response.body)["error"].get<std::string>().find("sleep-empty") != std::string::npos);
  }
  rig.request.body = R"({"order": "sleep-wake", "node": "n1", "all": "yes"})";
  const http::Response unknown = rig.ask();
  CHECK(unknown.status == 400);
  CHECK(json::parse(unknown.body)["error"].get<std::string>().find("field all: unknown field") != std::string::npos);
  CHECK(rig.asked.empty());
}

TEST_CASE("the status of a failed order says whether to repeat it") {
  OrderRig rig;
  for (const auto& each :
       {std::pair{Errc::not_found, 404}, std::pair{Errc::conflict, 409}, std::pair{Errc::unsupported, 409},
        std::pair{Errc::unavailable, 503}, std::pair{Errc::timeout, 503}, std::pair{Errc::malformed, 400}}) {
    rig.fails = Error{each.first, "n1", "stays awake: it has pods", "see wattle sleep plan"};
    const http::Response response = rig.ask();
    CHECK(response.status == each.second);
    CHECK(response.body.find("it has pods") != std::string::npos);
  }
}
