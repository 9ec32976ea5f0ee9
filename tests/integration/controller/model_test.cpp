// model: saves, lists, loads and compares networks over real sockets, by role; promotions and rollbacks change them.
// The
// network is a table, which needs no libtorch.
#include <doctest/doctest.h>

#include <algorithm>

#include "common/json/value.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

const json* named(const json& document, const std::string& name) {
  for (const json& model : document["models"])
    if (model["name"] == name) return &model;
  return nullptr;
}

}  // namespace

TEST_CASE("an operator saves, lists, loads and compares networks; a reader may only list them") {
  World world(1);
  world.config.learn.tabular = true;
  world.config.policy = "tabular-q";
  world.start();
  auto reader = world.ask_client(world.reader), shim = world.ask_client(world.shim),
       operator_client = world.ask_client(world.operator_key);
  for (const char* what : {"model-save", "model-load"})
    for (transport::AskClient* client : {&reader, &shim}) {
      const auto refused = query(*client, what, {{"name", "mine"}});
      REQUIRE_FALSE(refused);
      CHECK(refused.error().message().find("operator") != std::string::npos);
    }
  const auto saved = query(operator_client, "model-save", {{"name", "mine"}, {"why", "a test"}});
  if (!saved) FAIL(saved.error().message());
  REQUIRE(named(*saved, "mine") != nullptr);
  const auto listed = query(reader, "models");
  REQUIRE(listed);
  REQUIRE(named(*listed, "mine") != nullptr);
  CHECK((*named(*listed, "mine"))["active"] == true);
  CHECK((*named(*listed, "mine"))["fault"] == nullptr);
  const auto loaded = query(operator_client, "model-load", {{"name", "mine"}});
  if (!loaded) FAIL(loaded.error().message());
  CHECK((*loaded)["serving"]["loaded_from"] == "mine");
  const auto missing = query(operator_client, "model-load", {{"name", "nobody"}});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message().find("nobody") != std::string::npos);
  const auto policy = query(reader, "policy");
  REQUIRE(policy);
  const json& changes = (*policy)["changes"];
  CHECK(changes[0]["what"].get<std::string>().starts_with("not done: model loaded"));
  CHECK(changes[1]["what"] == "model loaded: step 0 from mine");
  CHECK(changes[2]["what"] == "model saved: step 0 as mine");
  CHECK(changes[2]["who"] == "operator/operator");
  CHECK(changes[2]["why"] == "a test");
}

TEST_CASE("a promotion saves the network in use, and a rollback restores it") {
  World world(1);
  world.config.learn.tabular = true;
  world.config.mode = Mode::shadow;
  world.start();
  auto client = world.ask_client(world.operator_key);
  const auto audited = [&](const std::string& what) {
    const MonoTime patience = world.clock.mono() + wattle::tests::late();
    while (world.clock.mono() < patience) {
      const auto policy = query(client, "policy");
      REQUIRE(policy);
      for (const json& change : (*policy)["changes"])
        if (change["what"].get<std::string>().starts_with(what)) return true;
    }
    return false;
  };
  REQUIRE(query(client, "policy-promote", {{"force", "yes"}, {"why", "a test"}}));
  CHECK(audited("promoted model saved"));
  const auto kept = query(client, "models");
  REQUIRE(kept);
  CHECK(named(*kept, "promoted") != nullptr);
  REQUIRE(query(client, "policy-rollback", {{"why", "enough"}}));
  CHECK(audited("promoted model restored"));
  const auto back = query(client, "models");
  REQUIRE(back);
  CHECK((*back)["serving"]["loaded_from"] == "promoted");
  CHECK((*query(client, "policy"))["mode"] == "shadow");
}
