#include "controller/web/known_arguments.hpp"

#include <doctest/doctest.h>

#include <array>

#include "controller/known_fields.hpp"

namespace {
using namespace wattle;
using namespace wattle::controller;

std::string refusal(std::string_view what, const Arguments& arguments) {
  const Status known = check_arguments(what, arguments);
  return known ? "" : known.error().message();
}

TEST_CASE("an argument that a document does not have is refused with the closest one and all others") {
  CHECK(refusal("decisions", {{"limt", "5"}}) ==
        "malformed: argument limt: unknown argument (did you mean \"limit\"? the arguments of decisions are limit, "
        "since)");
  CHECK(refusal("status", {{"x", "1"}}) == "malformed: argument x: unknown argument (status has no arguments)");
  CHECK(refusal("", {{"limit", "1"}}) == "malformed: argument limit: unknown argument (the list has no arguments)");
  CHECK(refusal("sleep-wake", {{"nod", "n1"}}).find("\"node\"") != std::string::npos);
  CHECK(refusal("provision-mode", {{"mode", "live"}, {"forse", "yes"}}).find("\"force\"") != std::string::npos);
  CHECK(refusal("nodes", {{"Limit", "5"}}).find("\"limit\"") != std::string::npos);
  CHECK(refusal("nodes", {{"", ""}}).find("unknown argument") != std::string::npos);
}

TEST_CASE("arguments of a document and those of weights are accepted, and an unknown document fails by its own name") {
  CHECK(refusal("decisions", {{"limit", "5"}, {"since", "1h"}}).empty());
  CHECK(refusal("what-if", {{"pod", "1"}, {"weight.energy", "3"}}).empty());
  CHECK(refusal("nosuch", {{"x", "1"}}).empty());
}

TEST_CASE("an argument that is given twice is refused") {
  http::Request request;
  request.query = {{"limit", "7"}};
  CHECK(check_query("decisions", request).has_value());
  request.repeated = "limit";
  CHECK(check_query("decisions", request).error().message() ==
        "malformed: argument limit: is given more than once (pass it once)");
  request.query = {{"limt", "7"}};
  CHECK(check_query(kNoQuery, request).error().fix == "this path has no arguments");
}

TEST_CASE("a field that a body does not have is refused") {
  static constexpr std::array<std::string_view, 2> kFields{"order", "node"};
  CHECK(check_fields("the body", {{"order", "sleep-wake"}, {"node", "n1"}}, kFields).has_value());
  CHECK(check_fields("the body", {{"ordr", "sleep-wake"}}, kFields).error().message() ==
        "malformed: field ordr: unknown field (did you mean \"order\"? the fields of the body are order, node)");
}

}  // namespace
