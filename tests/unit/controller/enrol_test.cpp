#include "controller/enrol/enrolment.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "common/enrol_tokens.hpp"
#include "common/json/value.hpp"
#include "common/transport/allow_edit.hpp"
#include "controller/enrol/token_file.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::controller;
using json = wattle::SortedJson;
using transport::AllowList;
using transport::KeyPair;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

struct EnrolFixture {
  wattle::test::TempDir dir;
  ManualClock clock{mono_from_ns(1), wall_from_ns(1'000'000'000'000)};
  Log log = Log::silent();
  KeyPair server = KeyPair::generate();
  std::string key = KeyPair::generate().public_key;
  std::string allow = dir.file("allow"), tokens = dir.file("tokens");
  EnrolCounts counts;
  std::unique_ptr<Enrolment> enrolment;

  EnrolFixture() {
    std::ofstream(allow) << "# by hand\n";
    EnrolOptions options{allow, dir.file("controller.key"), server.public_key};
    options.burst = 50;
    enrolment = std::make_unique<Enrolment>(options, std::make_unique<TokenFile>(tokens, clock), counts, clock, log);
  }
  // A token that is valid for `valid_s`.
  std::string token(const std::string& node, std::int64_t valid_s = 60, bool replace = false) {
    const std::string made = make_enrol_token().value();
    EnrolToken line;
    line.hash = enrol_hash(made);
    line.node = node;
    line.expires_s = to_ns(clock.wall()) / 1'000'000'000 + valid_s;
    line.replace = replace;
    REQUIRE(write_file_atomically(tokens, with_enrol_token(read_enrol_file(tokens).value(), line)));
    return made;
  }
  http::Response ask(const std::string& with, const std::string& for_key, const std::string& node = {}) {
    http::Request request;
    request.method = "POST";
    request.authorization = "Bearer " + with;
    json body{{"public_key", for_key}};
    if (!node.empty()) body["node"] = node;
    request.body = body.dump();
    return enrolment->answer(request);
  }
  std::uint64_t refused(EnrolRefused why) const { return counts.get(why); }
};

}  // namespace

TEST_CASE_FIXTURE(EnrolFixture, "a token adds its node's key to the list, and changes nothing else") {
  const auto answer = ask(token("node-1"), key);
  REQUIRE(answer.status == 200);
  CHECK(json::parse(answer.body) == json{{"node", "node-1"}, {"server_keys", {server.public_key}}});
  CHECK(text_of(allow) == "# by hand\n" + key + " agent node-1\n");
  CHECK(counts.enrolled() == 1);
}

TEST_CASE_FIXTURE(EnrolFixture, "the answer has the next server key while keys are rotated") {
  const std::string next = KeyPair::generate().public_key;
  std::ofstream(dir.file("controller.key.pub")) << server.public_key << "\n" << next << "\n";
  CHECK(json::parse(ask(token("node-1"), key).body)["server_keys"] == json{server.public_key, next});
}

TEST_CASE_FIXTURE(EnrolFixture, "a token is valid once, and again for the key that used it") {
  const std::string one = token("node-1");
  REQUIRE(ask(one, key).status == 200);
  CHECK(ask(one, key).status == 200);
  CHECK(text_of(allow) == "# by hand\n" + key + " agent node-1\n");
  CHECK(ask(one, KeyPair::generate().public_key).status == 401);
  CHECK(refused(EnrolRefused::used) == 1);
}

TEST_CASE_FIXTURE(EnrolFixture, "a token for any node enrols one node that has no key, under the name in the request") {
  const std::string any = token(std::string(kAnyNode));
  CHECK(ask(any, key).status == 400);
  CHECK(ask(any, key, "no name").status == 400);
  const std::string other = KeyPair::generate().public_key;
  CHECK(ask(token("node-1"), other).status == 200);
  CHECK(ask(any, key, "node-1").status == 409);  // the name has another key; the token is not used up
  CHECK(json::parse(ask(any, key, "node-2").body)["node"] == "node-2");
  CHECK(ask(any, key, "node-2").status == 200);
  CHECK(ask(any, key, "node-3").status == 409);
  CHECK(ask(any, KeyPair::generate().public_key, "node-3").status == 401);
}

TEST_CASE_FIXTURE(EnrolFixture, "a reader's key is admitted for its time, beside the list, and not if it was revoked") {
  struct Reading final : Reviewer {
    Reviewed<Admission> review(std::string_view, const std::string&) override {
      return Admission{"", "somebody", false, std::chrono::seconds(90)};
    }
    Status admitted(std::string_view, const std::string&) override { return {}; }
  };
  std::string admitted;
  Status answer;
  EnrolOptions options{allow, dir.file("controller.key"), server.public_key};
  options.admit_reader = [&](const std::string& asked, Duration valid) {
    admitted = asked + " " + std::to_string(seconds(valid));
    return answer;
  };
  enrolment = std::make_unique<Enrolment>(options, std::make_unique<Reading>(), counts, clock, log);
  const auto done = ask("a.b.c", key);
  REQUIRE(done.status == 200);
  CHECK(json::parse(done.body) == json{{"node", ""}, {"server_keys", {server.public_key}}, {"valid_s", 90}});
  CHECK(admitted == key + " 90.000000");
  CHECK(text_of(allow) == "# by hand\n");
  CHECK(counts.enrolled() == 0);
  answer = fail(Errc::conflict, "key", "is on the allow list");
  CHECK(ask("a.b.c", key).status == 409);
  answer = fail(Errc::exhausted, "readers", "too many are logged in");
  CHECK(ask("a.b.c", key).status == 429);
  std::ofstream(allow) << "# revoked " << key << " reader somebody\n";
  answer = Status();
  CHECK(ask("a.b.c", key).status == 403);
}

TEST_CASE_FIXTURE(EnrolFixture, "a name in the request counts only with a token for any node") {
  CHECK(json::parse(ask(token("node-1"), key, "node-2").body)["node"] == "node-1");
}

TEST_CASE_FIXTURE(EnrolFixture, "after a crash between token and key, the token is valid for the same key only") {
  struct Crashing final : Reviewer {
    Crashing(const std::string& path, const Clock& time, std::string list)
        : file(path, time), list_file(std::move(list)) {}
    Reviewed<Admission> review(std::string_view shown, const std::string& whose) override {
      return file.review(shown, whose);
    }
    Status admitted(std::string_view shown, const std::string& whose) override {
      const Status done = file.admitted(shown, whose);
      if (!crashed) std::ofstream(list_file) << "garbage\n";
      crashed = true;
      return done;
    }
    TokenFile file;
    std::string list_file;
    bool crashed = false;
  };
  EnrolOptions options{allow, dir.file("controller.key"), server.public_key};
  enrolment =
      std::make_unique<Enrolment>(options, std::make_unique<Crashing>(tokens, clock, allow), counts, clock, log);
  const std::string any = token(std::string(kAnyNode));
  CHECK(ask(any, key, "node-1").status == 503);
  std::ofstream(allow) << "";
  CHECK(ask(any, KeyPair::generate().public_key, "node-2").status == 401);
  CHECK(ask(any, key, "node-1").status == 200);
}

TEST_CASE_FIXTURE(EnrolFixture, "an unknown, expired or revoked token is refused") {
  CHECK(ask("wattle-enrol-none", key).status == 401);
  CHECK(refused(EnrolRefused::token) == 1);
  const std::string late = token("node-1", 60);
  clock.step_wall(std::chrono::seconds(60));
  CHECK(ask(late, key).status == 401);
  CHECK(refused(EnrolRefused::expired) == 1);
  const std::string gone = token("node-1");
  REQUIRE(write_file_atomically(tokens, without_enrol_token(text_of(tokens), enrol_hash(gone))));
  CHECK(ask(gone, key).status == 401);
  CHECK(text_of(allow) == "# by hand\n");
}

TEST_CASE_FIXTURE(EnrolFixture, "a revoked key stays revoked, whatever token is used") {
  REQUIRE(ask(token("node-1"), key).status == 200);
  REQUIRE(transport::write_list(allow, transport::without_keys(text_of(allow), {key})));
  CHECK(ask(token("node-1"), key).status == 403);
  CHECK(ask(token("node-1", 60, true), key).status == 403);
  CHECK(refused(EnrolRefused::revoked_key) == 2);
  CHECK(AllowList::load(allow)->size() == 0);
}

TEST_CASE_FIXTURE(EnrolFixture, "a node keeps its key unless the token permits a replacement") {
  REQUIRE(ask(token("node-1"), key).status == 200);
  const std::string other = KeyPair::generate().public_key;
  const auto answer = ask(token("node-1"), other);
  CHECK(answer.status == 409);
  CHECK(answer.body.find("wattle keys revoke node-1") != std::string::npos);
  CHECK(refused(EnrolRefused::other_key) == 1);
  REQUIRE(ask(token("node-1", 60, true), other).status == 200);
  CHECK(text_of(allow) == "# by hand\n# revoked " + key + " agent node-1\n" + other + " agent node-1\n");
}

TEST_CASE_FIXTURE(EnrolFixture, "a key that already has a name, in any role, is not given to a second node") {
  REQUIRE(transport::write_list(allow, transport::with_line("", {key, "reader", "node-1"})));
  CHECK(ask(token("node-1"), key).status == 409);
  REQUIRE(transport::write_list(allow, transport::with_line("", {key, "agent", "node-2"})));
  CHECK(ask(token("node-1", 60, true), key).status == 409);
  CHECK(refused(EnrolRefused::other_node) == 2);
}

TEST_CASE_FIXTURE(EnrolFixture, "an invalid request is refused, and the refusal reveals nothing about the token") {
  const std::string good = token("node-1");
  http::Request request;
  for (const std::string& body :
       std::vector<std::string>{"", "{", "[]", "{}", R"({"public_key": 7})", R"({"public_key": "short"})",
                                R"({"public_key": "0123456789012345678901234567890123456789 agent x"})"}) {
    request.authorization = "Bearer " + good;
    request.body = body;
    const auto answer = enrolment->answer(request);
    CHECK(answer.status == 400);
    CHECK(answer.body.find(good) == std::string::npos);
  }
  request.body = json{{"public_key", key}}.dump();
  for (const std::string& authorization : std::vector<std::string>{
           std::string(), std::string("Basic abc"), std::string("Bearer "), "Bearer " + std::string(20'000, 'x')}) {
    request.authorization = authorization;
    CHECK(enrolment->answer(request).status == 400);
  }
  CHECK(refused(EnrolRefused::malformed) == 11);
  CHECK(ask(good, key).status == 200);
}

TEST_CASE_FIXTURE(EnrolFixture,
                  "a file that cannot be read or written is reported as such, and the token stays valid") {
  const std::string good = token("node-1");
  std::ofstream(allow) << "garbage\n";
  CHECK(ask(good, key).status == 503);
  std::ofstream(allow) << "";
  CHECK(ask(good, key).status == 200);
  std::ofstream(tokens) << "garbage\n";
  CHECK(ask(good, key).status == 503);
  CHECK(refused(EnrolRefused::unavailable) == 2);
}

TEST_CASE_FIXTURE(EnrolFixture, "a list that other users may write to is not changed, and the token stays valid") {
  const std::string good = token("node-1");
  REQUIRE(::chmod(allow.c_str(), 0666) == 0);
  const http::Response answer = ask(good, key);
  CHECK(answer.status == 503);
  CHECK(answer.body.find("write") != std::string::npos);
  CHECK(text_of(allow) == "# by hand\n");
  REQUIRE(::chmod(allow.c_str(), 0600) == 0);
  CHECK(ask(good, key).status == 200);
}

TEST_CASE_FIXTURE(EnrolFixture, "a client that asks too often is refused for a while, and served again later") {
  const std::string good = token("node-1");
  for (int i = 0; i < 50; ++i) CHECK(ask("wattle-enrol-guess", key).status == 401);
  CHECK(ask(good, key).status == 429);
  CHECK(refused(EnrolRefused::rate) == 1);
  clock.advance(std::chrono::seconds(1));
  CHECK(ask(good, key).status == 200);
}
