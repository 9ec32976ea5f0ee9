// token_review: a token proves a node only if the API server confirms it, for our audience and service account, and for
// an existing pod.
#include "controller/enrol/token_review.hpp"

#include <doctest/doctest.h>

#include "controller/enrol/combined_reviewer.hpp"
#include "controller/enrol/enrolment.hpp"
#include "tests/integration/controller/fake_api.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

namespace {

const std::string kKey(40, 'k');

json good_status() {
  return {{"authenticated", true},
          {"audiences", {"wattle"}},
          {"user",
           {{"username", "system:serviceaccount:wattle-agent:wattle-agent"},
            {"extra",
             {{"authentication.kubernetes.io/node-name", {"n1"}},
              {"authentication.kubernetes.io/pod-name", {"agent-x"}},
              {"authentication.kubernetes.io/pod-uid", {"u1"}}}}}}};
}

struct ReviewRig {
  Log log = Log::silent();
  FakeApi api{log};
  kube::ApiServer server{kube::parse_url(api.url()).value(), ""};
  TokenReview reviewer{server, {}};

  Reviewed<Admission> review(const json& status) {
    api.know_token("a.b.c", status);
    return reviewer.review("a.b.c", kKey);
  }
  EnrolRefused why(const json& status) {
    const auto admission = review(status);
    REQUIRE_FALSE(admission);
    CHECK(admission.error().error.message().find("a.b.c") == std::string::npos);
    return admission.error().why;
  }
};

json without(json status, const char* claim) {
  status["user"]["extra"].erase(std::string("authentication.kubernetes.io/") + claim);
  return status;
}

}  // namespace

TEST_CASE_FIXTURE(ReviewRig, "a token of an agent's pod proves the pod's node, and may replace its key") {
  const auto admission = review(good_status());
  REQUIRE(admission);
  CHECK(admission->node == "n1");
  CHECK(admission->replace);
  CHECK(admission->by == "pod wattle-agent/agent-x");
  const json asked = api.last_review();
  CHECK(asked["spec"]["audiences"] == json{"wattle"});
  CHECK(asked["kind"] == "TokenReview");
  CHECK(reviewer.admitted("a.b.c", kKey));
}

TEST_CASE_FIXTURE(ReviewRig, "for an older API server that does not report the node, the pod is read") {
  const json status = without(good_status(), "node-name");
  CHECK(why(status) == EnrolRefused::token);  // no such pod
  json pod = {{"metadata", {{"name", "agent-x"}, {"namespace", "wattle-agent"}, {"uid", "u1"}}},
              {"spec", {{"nodeName", "n7"}}}};
  api.put("/api/v1/pods", "u1", pod);
  const auto admission = review(status);
  REQUIRE(admission);
  CHECK(admission->node == "n7");
  pod["metadata"]["uid"] = "u2";  // another of the same name
  api.put("/api/v1/pods", "u1", pod);
  CHECK(why(status) == EnrolRefused::token);
}

TEST_CASE_FIXTURE(ReviewRig, "a token that the API server does not confirm proves nothing") {
  CHECK(reviewer.review("x.y.z", kKey).error().why == EnrolRefused::token);
  json status = good_status();
  status["authenticated"] = false;
  CHECK(why(status) == EnrolRefused::token);
  for (const json& audiences : {json::array({"https://kubernetes.default.svc"}), json(nullptr), json("wattle")}) {
    status = good_status();
    status["audiences"] = audiences;
    CHECK(why(status) == EnrolRefused::token);
  }
  for (const char* name : {"system:serviceaccount:shop:web", "system:serviceaccount:wattle-agent", "admin",
                           "system:node:n1", "x:wattle-agent:wattle-agent"}) {
    status = good_status();
    status["user"]["username"] = name;
    CHECK(why(status) == EnrolRefused::token);
  }
  CHECK(why(without(good_status(), "pod-name")) == EnrolRefused::token);
  CHECK(why(without(good_status(), "pod-uid")) == EnrolRefused::token);
  status = without(good_status(), "node-name");
  status["user"]["extra"]["authentication.kubernetes.io/pod-name"] = {"../../nodes"};
  CHECK(why(status) == EnrolRefused::token);
  for (const json& odd : {json(nullptr), json::array(), json("text"), json(3)}) CHECK(why(odd) == EnrolRefused::token);
}

TEST_CASE_FIXTURE(ReviewRig, "an API server that is unreachable or denies the review refuses no agent permanently") {
  api.let_in({"another"});
  CHECK(why(good_status()) == EnrolRefused::unavailable);
  api.close();
  CHECK(reviewer.review("a.b.c", kKey).error().why == EnrolRefused::unavailable);
  api.open();
  api.let_in({});
  CHECK(review(good_status()));
}

TEST_CASE("with both reviewers, tokens with two dots go to the cluster and the rest to the token file") {
  struct Named final : Reviewer {
    std::string name;
    explicit Named(std::string its) : name(std::move(its)) {}
    Reviewed<Admission> review(std::string_view, const std::string&) override { return Admission{name, "", false}; }
    Status admitted(std::string_view, const std::string&) override { return {}; }
  };
  CombinedReviewer both(std::make_unique<Named>("file"), std::make_unique<Named>("cluster"));
  CHECK(both.review("a.b.c", kKey)->node == "cluster");
  CHECK(both.review("wattle-enrol-abc", kKey)->node == "file");
  CombinedReviewer file(std::make_unique<Named>("file"), nullptr);
  CHECK(file.review("a.b.c", kKey)->node == "file");
  CombinedReviewer cluster(nullptr, std::make_unique<Named>("cluster"));
  CHECK(cluster.review("wattle-enrol-abc", kKey)->node == "cluster");
}
