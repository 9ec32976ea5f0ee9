#include "cli/list.hpp"

#include <doctest/doctest.h>

#include "tests/unit/cli/surroundings.hpp"

using namespace wattle;
using namespace wattle::cli;

namespace {
Json pods() {
  return Json::parse(R"({"kept":9,"pods":[
    {"name":"b","namespace":"shop","uid":"u-1","power_w":5.5},
    {"name":"a","namespace":"shop","uid":"u-2","power_w":null},
    {"name":"c","namespace":"default","uid":"u-3","power_w":1}]})");
}

std::string order(const std::string& sort_by, const std::string& name_space = {}, std::size_t most = 0) {
  Json document = pods();
  const auto path = sort_path(sort_by);
  if (!path) return path.error().message();
  const auto done = narrow(document, list_of("pods"), name_space, most, *path);
  if (!done) return done.error().message();
  std::string out;
  for (const View& item : View(document)["pods"].items()) out += item["name"].text_or();
  return out;
}
}  // namespace

TEST_CASE("a list is sorted by a number or a text of its items, and unknown values come last") {
  CHECK(order("") == "bac");
  CHECK(order("name") == "abc");
  CHECK(order(".name") == "abc");
  CHECK(order("{.name}") == "abc");
  CHECK(order("power_w") == "cba");
  CHECK(order("namespace") == "cba");
}

TEST_CASE("a sort key that no item has is refused with the closest one, and so is an invalid one") {
  CHECK(order("pwoer_w").find("--sort-by: column 1: unknown key \"pwoer_w\" (did you mean \"power_w\"?") !=
        std::string::npos);
  CHECK(order("{.name[}").find("--sort-by: column 8:") != std::string::npos);
}

TEST_CASE("a namespace selects its items, up to the limit") {
  CHECK(order("", "shop") == "ba");
  CHECK(order("name", "shop", 1) == "b");
  CHECK(order("", "nowhere") == "");
  Json document = pods();
  REQUIRE(narrow(document, list_of("pods"), "shop", 0, {}));
  CHECK_FALSE(document.contains("kept"));  // in all namespaces
}

TEST_CASE("names in a list are those that other commands accept") {
  const Json document = pods();
  CHECK(list_of("pods").name(View(document)["pods"].items()[0]) == "shop/b");
  const Json decision{{"id", 17}};
  CHECK(list_of("decisions").name(View(decision)) == "17");
}

TEST_CASE("errors in -o are found before the controller is queried") {
  cli::test::Outside outside;
  CHECK(outside.run({"nodes", "-o", "jsonpath={.nodes[}"}) == 2);
  CHECK(outside.complains_of("wattle: nodes: -o jsonpath: column 9:"));
  CHECK(outside.run({"status", "-o", "name"}) == 2);
  CHECK(outside.complains_of("-o name: only lists and `place` have this output"));
  CHECK(outside.run({"nodes", "--sort-by", "[", "--key", "/none"}) == 2);
  CHECK(outside.complains_of("--sort-by: column 2:"));
  CHECK(outside.run({"pods", "-n", "shop", "-A"}) == 2);
  CHECK(outside.complains_of("cannot be combined with"));
  CHECK(outside.run({"nodes", "-o", "jsno"}) == 2);
  CHECK(outside.complains_of("did you mean \"json\"?"));
}

TEST_CASE("help prints the same as --help, and an unknown command names the closest one") {
  cli::test::Outside outside;
  CHECK(outside.run({"help", "policy", "set"}) == 0);
  const std::string shown = outside.out.str();
  CHECK(outside.run({"policy", "set", "--help"}) == 0);
  CHECK(outside.out.str() == shown);
  CHECK(outside.run({"help"}) == 0);
  const std::string all = outside.out.str();
  CHECK(outside.run({"--help"}) == 0);
  CHECK(outside.out.str() == all);
  CHECK(outside.run({"help", "polcy"}) == 2);
  CHECK(outside.complains_of("wattle: help: unknown command \"polcy\" (did you mean \"policy\"?"));
}

TEST_CASE("version prints this program's version without a controller, with the reason, and exits with 1") {
  cli::test::Outside outside;
  CHECK(outside.run({"version", "--key", "/none", "--server-key", "/none", "-o", "jsonpath={.client} {.controller}"}) ==
        1);
  CHECK(outside.out.str() == std::string(WATTLE_VERSION) + " ");
  CHECK(outside.run({"version", "--key", "/none", "--server-key", "/none"}) == 1);
  CHECK(outside.out.str().find("controller  /none: No such file or directory") != std::string::npos);
  CHECK(outside.err.str().empty());
}
