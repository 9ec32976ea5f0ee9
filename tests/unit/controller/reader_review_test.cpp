// reader_review: a token admits a reader's key only if the API server confirms it, for our audience and the one account;
// strangers cannot make the controller flood the API server.
#include "controller/enrol/reader_review.hpp"

#include <doctest/doctest.h>

#include "controller/enrol/combined_reviewer.hpp"
#include "tests/integration/controller/fake_api.hpp"
#include "tests/unit/common/jwt.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using wattle::test::jwt;

namespace {

const std::string kUser = "system:serviceaccount:wattle:wattle-reader";
const std::string kKey(40, 'k'), kOther(40, 'o');
constexpr std::int64_t kNow_s = 1'000'000;

json confirmed(const std::string& user = kUser, const std::string& audience = "wattle") {
  return {{"authenticated", true}, {"audiences", {audience}}, {"user", {{"username", user}}}};
}

struct ReaderRig {
  Log log = Log::silent();
  ManualClock clock{mono_from_ns(1'000'000'000), wall_from_ns(kNow_s * 1'000'000'000)};
  FakeApi api{log};
  ReaderReview reviewer{kube::ApiServer{kube::parse_url(api.url()).value(), ""}, "wattle/wattle-reader", clock};
  int made = 0;

  // A token that the API server does not know.
  std::string forged(std::int64_t valid_s = 600, const std::string& audience = "wattle",
                     const std::string& user = kUser) {
    return jwt(json{{"sub", user}, {"aud", {audience}}, {"exp", now_s() + valid_s}, {"jti", ++made}}.dump());
  }
  std::string issued(std::int64_t valid_s = 600, json status = confirmed()) {
    const std::string token = forged(valid_s);
    api.know_token(token, std::move(status));
    return token;
  }
  std::int64_t now_s() const { return to_ns(clock.wall()) / 1'000'000'000; }
  EnrolRefused why(const std::string& token, const std::string& key = kKey) {
    const auto admission = reviewer.review(token, key);
    REQUIRE_FALSE(admission);
    CHECK(admission.error().error.message().find(token) == std::string::npos);
    return admission.error().why;
  }
};

}  // namespace

TEST_CASE_FIXTURE(ReaderRig, "a confirmed token lets its key read until it expires, and for at most ten minutes") {
  const auto admission = reviewer.review(issued(60), kKey);
  REQUIRE(admission);
  REQUIRE(admission->reads_for);
  CHECK(*admission->reads_for > std::chrono::seconds(50));
  CHECK(*admission->reads_for < std::chrono::seconds(60));
  CHECK(admission->node.empty());
  CHECK(api.last_review()["spec"]["audiences"] == json{"wattle"});
  CHECK(*reviewer.review(issued(86'400), kKey)->reads_for == std::chrono::minutes(10));
}

TEST_CASE_FIXTURE(ReaderRig, "a token admits one key, and its result is kept until it expires") {
  const std::string token = issued(60);
  REQUIRE(reviewer.review(token, kKey));
  CHECK(why(token, kOther) == EnrolRefused::used);
  clock.advance(std::chrono::seconds(30));
  const auto again = reviewer.review(token, kKey);
  REQUIRE(again);
  CHECK(*again->reads_for < std::chrono::seconds(30));
  CHECK(api.reviews() == 1);
  clock.advance(std::chrono::seconds(30));
  CHECK(why(token) == EnrolRefused::expired);
  CHECK(api.reviews() == 1);
}

TEST_CASE_FIXTURE(ReaderRig, "the wall clock's steps never extend an admission beyond the token's life") {
  const std::string token = issued(60);
  clock.step_wall(-std::chrono::hours(1));  // NTP corrects a clock that was ahead
  const auto admission = reviewer.review(token, kKey);
  REQUIRE(admission);
  CHECK(*admission->reads_for <= std::chrono::minutes(10));
  clock.step_wall(std::chrono::hours(2));
  CHECK(why(token) == EnrolRefused::expired);
}

TEST_CASE_FIXTURE(ReaderRig, "tokens whose claims cannot pass are refused without a review") {
  CHECK(why("x.y.z") == EnrolRefused::token);
  CHECK(why("wattle-enrol-abc") == EnrolRefused::token);
  CHECK(why(forged(600, "https://kubernetes.default.svc")) == EnrolRefused::token);
  CHECK(why(forged(600, "wattle", "system:serviceaccount:shop:web")) == EnrolRefused::token);
  CHECK(why(forged(600, "wattle", "system:serviceaccount:wattle:wattle-reader2")) == EnrolRefused::token);
  CHECK(why(forged(0)) == EnrolRefused::expired);
  CHECK(why(forged(-1)) == EnrolRefused::expired);
  CHECK(api.reviews() == 0);
}

TEST_CASE_FIXTURE(ReaderRig, "a token that the API server does not confirm for our audience and account is refused") {
  CHECK(why(forged()) == EnrolRefused::token);
  CHECK(why(issued(600, confirmed("system:serviceaccount:shop:wattle-reader"))) == EnrolRefused::token);
  CHECK(why(issued(600, confirmed("admin"))) == EnrolRefused::token);
  CHECK(why(issued(600, confirmed(kUser, "https://kubernetes.default.svc"))) == EnrolRefused::token);
  json status = confirmed();
  status["authenticated"] = false;
  CHECK(why(issued(600, status)) == EnrolRefused::token);
  status = confirmed();
  status.erase("audiences");
  CHECK(why(issued(600, status)) == EnrolRefused::token);
  for (const json& odd : {json(nullptr), json::array(), json("text"), json(3)})
    CHECK(why(issued(600, odd)) == EnrolRefused::token);
}

TEST_CASE_FIXTURE(ReaderRig, "a refused token is not reviewed again within a minute") {
  const std::string token = forged();
  CHECK(why(token) == EnrolRefused::token);
  CHECK(why(token) == EnrolRefused::token);
  CHECK(api.reviews() == 1);
  api.know_token(token, confirmed());
  clock.advance(std::chrono::seconds(61));
  CHECK(reviewer.review(token, kKey));
  CHECK(api.reviews() == 2);
}

TEST_CASE_FIXTURE(ReaderRig, "strangers with invented tokens cause few reviews, and their results need little memory") {
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(reviewer.review(forged(), kKey));
  CHECK(why(forged()) == EnrolRefused::rate);
  CHECK(api.reviews() == 20);
  for (int i = 0; i < 120; ++i) {
    clock.advance(std::chrono::seconds(1));
    for (int j = 0; j < 5; ++j) CHECK_FALSE(reviewer.review(forged(), kKey));
  }
  CHECK(api.reviews() == 260);
  CHECK(reviewer.kept() <= 141);  // of the last minute, and those of the burst
  clock.advance(std::chrono::seconds(30));
  CHECK(reviewer.review(issued(), kKey));
}

TEST_CASE_FIXTURE(ReaderRig,
                  "an API server that is down or denies the review admits no key and is asked every five seconds") {
  api.let_in({"another"});
  const std::string token = issued();
  CHECK(why(token) == EnrolRefused::unavailable);
  CHECK(reviewer.review(token, kKey).error().error.fix.find("creating tokenreviews") != std::string::npos);
  CHECK(api.reviews() == 1);
  clock.advance(std::chrono::seconds(6));
  api.close();
  CHECK(why(token) == EnrolRefused::unavailable);
  api.open();
  api.let_in({});
  CHECK(why(token) == EnrolRefused::unavailable);
  clock.advance(std::chrono::seconds(6));
  CHECK(reviewer.review(token, kKey));
}

TEST_CASE_FIXTURE(ReaderRig, "a token that names the readers' account goes to the readers' review, and to no other") {
  struct Named final : Reviewer {
    Reviewed<Admission> review(std::string_view, const std::string&) override { return Admission{"n1", "", true, {}}; }
    Status admitted(std::string_view, const std::string&) override { return {}; }
  };
  CombinedReviewer all(std::make_unique<Named>(), std::make_unique<Named>(),
                       std::make_unique<ReaderReview>(kube::ApiServer{kube::parse_url(api.url()).value(), ""},
                                                      "wattle/wattle-reader", clock));
  CHECK_FALSE(all.review(forged(), kKey));
  const auto reader = all.review(issued(), kKey);
  REQUIRE(reader);
  CHECK(reader->reads_for);
  CHECK(all.review(forged(600, "wattle", "system:serviceaccount:wattle-agent:wattle-agent"), kKey)->node == "n1");
  CHECK(all.review("wattle-enrol-abc", kKey)->node == "n1");
}
