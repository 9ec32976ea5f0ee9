#include "shim/latency_veto.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "common/json/value.hpp"

using namespace std::chrono_literals;
using json = wattle::SortedJson;
using wattle::Errc;
using wattle::fail;
using wattle::ManualClock;
using wattle::Result;
using wattle::shim::LatencyVeto;
using wattle::shim::Veto;
using wattle::wire::Ask;

namespace {

using Names = std::vector<std::string>;

struct VetoFixture {
  ManualClock clock;
  Result<std::string> next = fail(Errc::timeout, "controller", "no answer");
  Names asked;
  LatencyVeto veto{[this](const std::string& target, std::chrono::milliseconds) {
                     asked.push_back(target);
                     return next;
                   },
                   clock, 20ms};
  void know(const json& p50_ms, bool acting = true) { next = json{{"acting", acting}, {"nodes", p50_ms}}.dump(); }
};

Ask pod(Names candidates, std::optional<double> hard_ms) {
  Ask ask;
  ask.pod_uid = "u1";
  ask.candidates = std::move(candidates);
  ask.latency_hard_ms = hard_ms;
  ask.latency_target = "users";
  return ask;
}

}  // namespace

TEST_CASE_FIXTURE(VetoFixture, "a node that is known to be above the limit is vetoed, with a readable reason") {
  know({{"near", 10.0}, {"edge", 30.0}, {"far", 31.26}});
  const Veto got = veto.judge(pod({"far", "near", "edge"}, 30));
  CHECK(got.passed == Names{"near", "edge"});
  REQUIRE(got.vetoed.size() == 1);
  CHECK(got.vetoed.at("far") == "latency to users is 31.3 ms, above the hard limit of 30.0 ms");
  CHECK(got.reason == "judged");
  CHECK(asked == Names{"users"});
}

TEST_CASE_FIXTURE(VetoFixture,
                  "a node with unknown latency is vetoed only while another is known to be within the limit") {
  know({{"near", 10.0}});
  CHECK(veto.judge(pod({"dark", "near"}, 30)).passed == Names{"near"});
  CHECK(veto.judge(pod({"dark", "darker"}, 30)).passed == Names{"dark", "darker"});
  clock.advance(2s);
  know({{"far", 99.0}});
  CHECK(veto.judge(pod({"dark", "far"}, 30)).passed == Names{"dark"});
  // All are known and none is within, so none passes: the limit is hard.
  CHECK(veto.judge(pod({"far"}, 30)).passed.empty());
}

TEST_CASE_FIXTURE(VetoFixture, "for any fault of the controller, all nodes pass") {
  const auto all = [&](const Ask& ask, std::string_view reason) {
    const Veto got = veto.judge(ask);
    CHECK(got.passed == ask.candidates);
    CHECK(got.vetoed.empty());
    CHECK(got.reason == reason);
  };
  const Ask ask = pod({"far", "near"}, 30);
  all(ask, "timed out");
  CHECK_FALSE(veto.judge(ask).failure.empty());
  for (const char* odd : {"", "[]", "null", "{}", R"({"acting":1,"nodes":{}})", R"({"acting":true,"nodes":[]})"}) {
    next = std::string(odd);
    all(ask, "malformed");
  }
  know({{"far", 99.0}, {"near", 1.0}}, false);
  all(ask, "neutral");
  clock.advance(2s);
  know({{"far", "99"}, {"near", nullptr}});
  all(ask, "judged");
}

TEST_CASE_FIXTURE(VetoFixture, "a bound pod or one without a limit needs no query; a burst needs one") {
  know({{"far", 99.0}, {"near", 1.0}});
  CHECK(veto.judge(pod({"far", "near"}, std::nullopt)).reason == "no_limit");
  Ask bound = pod({"far", "near"}, 30);
  bound.node_name = "far";
  CHECK(veto.judge(bound).passed.size() == 2);
  CHECK(veto.judge(pod({}, 30)).reason == "no_candidates");
  CHECK(asked.empty());
  for (int i = 0; i < 5; ++i) veto.judge(pod({"far", "near"}, 30));
  CHECK(asked.size() == 1);
  clock.advance(2s);
  veto.judge(pod({"far", "near"}, 30));
  CHECK(asked.size() == 2);
}

TEST_CASE("each candidate passes or is vetoed, and at least one passes unless all are known to be above the limit") {
  CHECK(rc::check([] {
    VetoFixture f;
    Names candidates;
    json p50_ms = json::object();
    bool all_above = true;
    const auto kinds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      candidates.push_back("n" + std::to_string(i));
      if (kinds[i] > 0) p50_ms[candidates.back()] = kinds[i] == 1 ? 5.0 : 50.0;
      all_above = all_above && kinds[i] == 2;
    }
    f.know(p50_ms);
    const Veto got = f.veto.judge(pod(candidates, 30));
    RC_ASSERT(got.passed.size() + got.vetoed.size() == candidates.size());
    for (const std::string& node : got.passed) RC_ASSERT(!got.vetoed.contains(node));
    RC_ASSERT(got.passed.empty() == (all_above || candidates.empty()));
  }));
}

TEST_CASE_FIXTURE(VetoFixture, "preemption is judged by the filter's rule") {
  know({{"near", 10.0}, {"far", 40.0}});
  CHECK(veto.judge_preemption(pod({"far", "near", "dark"}, 30)).passed == Names{"near"});
  CHECK(veto.judge_preemption(pod({"far"}, 30)).passed.empty());
  CHECK(veto.judge_preemption(pod({"dark"}, 30)).passed == Names{"dark"});
  CHECK(veto.judge_preemption(pod({"far"}, std::nullopt)).passed == Names{"far"});
  clock.advance(2s);
  next = fail(Errc::timeout, "controller", "no answer");
  CHECK(veto.judge_preemption(pod({"far"}, 30)).passed == Names{"far"});
}

TEST_CASE_FIXTURE(VetoFixture, "a node whose pods were evicted for a pod stays accepted for that pod") {
  know({{"near", 10.0}, {"other", 10.0}});
  CHECK(veto.judge_preemption(pod({"near"}, 30)).passed == Names{"near"});
  clock.advance(60s);
  know({{"near", 31.0}, {"other", 10.0}});
  const Veto kept = veto.judge(pod({"near"}, 30));
  CHECK(kept.passed == Names{"near"});
  CHECK(kept.reason == "promised");
  CHECK(veto.judge(pod({"near", "other"}, 30)).passed == Names{"other"});
  Ask another = pod({"near"}, 30);
  another.pod_uid = "u2";
  CHECK(veto.judge(another).passed.empty());
  // Another preemption uses current knowledge, and replaces the first.
  CHECK(veto.judge_preemption(pod({"near"}, 30)).passed.empty());
  clock.advance(wattle::shim::kPromisedFor);
  CHECK(veto.judge(pod({"near"}, 30)).passed.empty());
}
