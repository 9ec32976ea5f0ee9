// disruption_budgets: budgets that allow no eviction, and the pods that they cover.
#include "controller/power/disruption_budgets.hpp"

#include <doctest/doctest.h>

using namespace wattle;
using namespace wattle::controller::power;

namespace {

DisruptionBudget only(const std::string& selector) {
  const auto page =
      parse_budgets(R"({"items": [{"metadata": {"namespace": "shop", "name": "web"}, "spec": {"selector": )" +
                    selector + R"(}, "status": {"disruptionsAllowed": 0}}]})");
  REQUIRE(page);
  REQUIRE(page->unsatisfied.size() == 1);
  return page->unsatisfied.front();
}

}  // namespace

TEST_CASE("a budget that allows an eviction is omitted; one without a number is kept") {
  const auto page = parse_budgets(R"({"metadata": {"continue": "next"}, "items": [
    {"metadata": {"name": "a"}, "spec": {"selector": {}}, "status": {"disruptionsAllowed": 1}},
    {"metadata": {"name": "b"}, "spec": {"selector": {}}, "status": {"disruptionsAllowed": 0}},
    {"metadata": {"name": "c"}, "spec": {"selector": {}}}]})");
  REQUIRE(page);
  CHECK(page->next == "next");
  REQUIRE(page->unsatisfied.size() == 2);
  CHECK(page->unsatisfied[0].name == "b");
  CHECK(page->unsatisfied[1].name == "c");
}

TEST_CASE("a budget covers the pods of its namespace whose labels match all terms of its selector") {
  const DisruptionBudget labels = only(R"({"matchLabels": {"app": "web", "tier": "front"}})");
  CHECK(labels.covers("shop", "app=web,tier=front,x=y"));
  CHECK_FALSE(labels.covers("shop", "app=web"));
  CHECK_FALSE(labels.covers("other", "app=web,tier=front"));
  CHECK_FALSE(labels.covers("shop", "app=web2,tier=front"));
  const DisruptionBudget expressions = only(R"({"matchExpressions": [
    {"key": "app", "operator": "In", "values": ["web", "api"]}, {"key": "canary", "operator": "DoesNotExist"},
    {"key": "tier", "operator": "NotIn", "values": ["back"]}, {"key": "team", "operator": "Exists"}]})");
  CHECK(expressions.covers("shop", "app=api,team="));
  CHECK_FALSE(expressions.covers("shop", "app=api"));
  CHECK_FALSE(expressions.covers("shop", "app=api,team=x,canary=yes"));
  CHECK_FALSE(expressions.covers("shop", "app=api,team=x,tier=back"));
  CHECK(only("{}").covers("shop", ""));
  // An operator that this version does not know may match.
  CHECK(only(R"({"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}]})").covers("shop", ""));
}

TEST_CASE("a budget without a selector covers no pod, and an empty list may be null") {
  for (const char* spec : {"{}", R"({"selector": null})", "null", "4"}) {
    const auto page = parse_budgets(R"({"items": [{"metadata": {"namespace": "shop", "name": "web"}, "spec": )" +
                                    std::string(spec) + R"(, "status": {"disruptionsAllowed": 0}}]})");
    REQUIRE(page);
    CHECK(page->unsatisfied.empty());
  }
  const auto none = parse_budgets(R"({"metadata": {"continue": "next"}, "items": null})");
  REQUIRE(none);
  CHECK(none->unsatisfied.empty());
  CHECK(none->next == "next");
}

TEST_CASE("an answer that is not a list of budgets is an error") {
  CHECK(parse_budgets("{}").error().code == Errc::malformed);
  CHECK(parse_budgets("[").error().code == Errc::malformed);
  CHECK(parse_budgets(R"({"items": 3})").error().code == Errc::malformed);
  CHECK(parse_budgets(R"({"items": [3, {"spec": 4}]})").value().unsatisfied.empty());
}
