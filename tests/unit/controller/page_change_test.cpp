#include "controller/web/page_change.hpp"

#include <doctest/doctest.h>

#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::controller;
using http::Refused;
using json = wattle::SortedJson;

namespace {

constexpr const char* kOperatorWord = "an-operators-word-1";

// Sends the page's request; `asked` holds the changes that passed the checks.
struct ChangeRig {
  std::optional<http::Token> operators;
  http::Request request{"POST", "/page/change", {}, R"({"mode": "canary:10%", "why": "to see", "force": true})", {}};
  std::vector<std::map<std::string, std::string>> asked;
  std::string who;
  std::optional<Error> fails;

  ChangeRig() {
    const wattle::test::TempDir dir;
    REQUIRE(write_file_atomically(dir.file("operator"), kOperatorWord, 0400));
    auto token = http::Token::load(dir.file("operator"));
    REQUIRE(token);
    operators = *token;
    request.authorization = std::string("Bearer ") + kOperatorWord;
    request.headers = {{"x-wattle", "page"},
                       {"content-type", "application/json"},
                       {"host", "wattle.example:8050"},
                       {"origin", "https://wattle.example:8050"},
                       {"sec-fetch-site", "same-origin"}};
    request.from = "192.0.2.7";
  }
  http::Response ask() {
    const MakeChange make = [this](const std::map<std::string, std::string>& arguments,
                                   const std::string& its_who) -> Result<std::string> {
      asked.push_back(arguments);
      who = its_who;
      if (fails) return tl::unexpected(*fails);
      return std::string(R"({"mode": "canary:10%"})");
    };
    return answer_change(operators, make, request);
  }
  // No change was requested.
  void refuses(int status, std::optional<Refused> why, const std::string& words) {
    const http::Response response = ask();
    CHECK(response.status == status);
    CHECK(response.refused == why);
    CHECK(json::parse(response.body)["error"].get<std::string>().find(words) != std::string::npos);
    CHECK(asked.empty());
  }
};

}  // namespace

TEST_CASE("an operator's change is made as by the command line, and records its origin") {
  ChangeRig rig;
  const http::Response response = rig.ask();
  CHECK(response.status == 200);
  CHECK_FALSE(response.refused);
  CHECK(json::parse(response.body)["mode"] == "canary:10%");
  REQUIRE(rig.asked.size() == 1);
  CHECK(rig.asked[0] ==
        std::map<std::string, std::string>{{"mode", "canary:10%"}, {"why", "to see"}, {"force", "yes"}});
  CHECK(rig.who == "page/192.0.2.7");
  rig.request.body = R"({"cpu_wait": "5%", "force": false})";
  rig.request.headers["content-type"] = "application/json; charset=utf-8";
  CHECK(rig.ask().status == 200);
  CHECK(rig.asked[1] == std::map<std::string, std::string>{{"cpu_wait", "5%"}});
  rig.request.body = R"({"late": "default"})";
  CHECK(rig.ask().status == 200);
  CHECK(rig.asked[2] == std::map<std::string, std::string>{{"late", "default"}});
  rig.request.body = R"({"policy": "planner"})";
  CHECK(rig.ask().status == 200);
  CHECK(rig.asked[3] == std::map<std::string, std::string>{{"policy", "planner"}});
}

TEST_CASE("without a configured operator token no change is possible, and the error names the setting") {
  ChangeRig rig;
  rig.operators.reset();
  rig.refuses(403, Refused::path, "http.operator_token_file");
}

TEST_CASE("a missing token, another token and a cookie change nothing") {
  for (const char* word : {"", "Bearer ", "Bearer correct-horse-battery", "an-operators-word-1",
                           "Basic an-operators-word-1", "Bearer an-operators-word-1 "}) {
    CAPTURE(word);
    ChangeRig rig;
    rig.request.authorization = word;
    rig.request.headers["cookie"] = "wattle_pass=" + rig.operators->pass(WallTime{std::chrono::hours(1'000'000)});
    rig.refuses(401, Refused::token, "http.operator_token_file");
  }
}

TEST_CASE("a cross-site form or script changes nothing") {
  ChangeRig no_header;
  no_header.request.headers.erase("x-wattle");
  no_header.refuses(403, Refused::foreign, "X-Wattle");
  for (const char* site : {"cross-site", "same-site", "none", "odd"}) {
    CAPTURE(site);
    ChangeRig rig;
    rig.request.headers["sec-fetch-site"] = site;
    rig.refuses(403, Refused::foreign, "another site");
  }
  for (const char* origin : {"null", "https://evil.example", "https://wattle.example",
                             "https://wattle.example:8050.evil", "wattle.example:8050"}) {
    CAPTURE(origin);
    ChangeRig rig;
    rig.request.headers.erase("sec-fetch-site");
    rig.request.headers["origin"] = origin;
    rig.refuses(403, Refused::foreign, "another site");
  }
  for (const char* type :
       {"", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "text/plain; application/json"}) {
    CAPTURE(type);
    ChangeRig rig;
    rig.request.headers["content-type"] = type;
    rig.refuses(415, Refused::malformed, "application/json");
  }
}

TEST_CASE("a client that omits Sec-Fetch-Site or Origin still needs the token") {
  ChangeRig rig;
  rig.request.headers.erase("sec-fetch-site");
  CHECK(rig.ask().status == 200);
  rig.request.headers.erase("origin");
  CHECK(rig.ask().status == 200);
  rig.asked.clear();
  rig.request.authorization.clear();
  rig.refuses(401, Refused::token, "http.operator_token_file");
}

TEST_CASE("an invalid body changes nothing and is named") {
  const auto with = [](const std::string& body, const std::string& words) {
    CAPTURE(body);
    ChangeRig rig;
    rig.request.body = body;
    rig.refuses(400, std::nullopt, words);
  };
  for (const char* odd : {"", "[]", "7", "null", "{\"mode\": \"off\"", "{\"mode\": \"\xff\"}"})
    with(odd, "the body is not");
  with("{}", "no setting given");
  with(R"({"why": "to see", "force": true})", "no setting given");
  with(R"({"mode": "off", "reward": "planner"})", "field reward: unknown field");
  with(R"({"mode": "off", "weight.energy": "1"})", "field weight.energy: unknown field");
  with(R"({"mode": 1})", "argument mode: is not a string");
  with(R"({"mode": ""})", "argument mode: is not a string");
  with(R"({"mode": ["off"]})", "argument mode: is not a string");
  with(R"({"mode": "off", "force": "yes"})", "argument force");
}

TEST_CASE("the controller's answer to a change is forwarded with its status") {
  for (const auto& [code, status] : std::vector<std::pair<Errc, int>>{{Errc::malformed, 400},
                                                                      {Errc::out_of_range, 400},
                                                                      {Errc::denied, 409},
                                                                      {Errc::timeout, 503},
                                                                      {Errc::io, 503}}) {
    ChangeRig rig;
    rig.fails = Error{code, "mode live", "its gate is closed", "wait"};
    const http::Response response = rig.ask();
    CHECK(response.status == status);
    CHECK_FALSE(response.refused);
    CHECK(json::parse(response.body)["error"].get<std::string>().find("its gate is closed") != std::string::npos);
  }
}
