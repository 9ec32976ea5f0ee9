// The network that a controller starts with: the shipped one, its own checkpoint, or none.
#include <doctest/doctest.h>

#include <fstream>

#include "common/json/value.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/frozen/safetensors.hpp"
#include "placement/worth/features.hpp"
#include "tests/integration/controller/shipped.hpp"
#include "tests/integration/controller/world.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

// The newest change that a start caused; empty if there is none.
std::string audited_at_start(transport::AskClient& client) {
  const json policy = answer(client, "policy");
  for (const json& change : policy["changes"])
    if (change["who"] == "start") return change["what"].get<std::string>();
  return {};
}

std::string shipped_digest(const std::string& preset) {
  const auto read =
      models::read_pretrained(kShipped + "/" + preset + ".safetensors", placement::feature_schema_hash(), preset);
  if (!read) FAIL(read.error().message());
  return read->network_sha256;
}

// A network with zero residuals, as of a controller without learning or a shipped network.
std::string untrained_digest() { return models::network_digest(make_network(LearnConfig{}).value()->weights()); }

}  // namespace

TEST_CASE("a controller without a checkpoint starts with the shipped network of its reward preset, in mode shadow") {
  if (cannot_learn()) return;
  for (const char* preset : {"weighted", "ee"}) {
    CAPTURE(preset);
    World world(1);
    world.config.mode = ControllerConfig{}.mode;
    world.config.models_dir = kShipped;
    world.config.decide.reward.preset = placement::parse_preset(preset).value();
    world.start();
    auto client = world.ask_client(world.operator_key);
    const json models = answer(client, "models");
    CHECK(models["serving"]["network_sha256"] == shipped_digest(preset));
    CHECK(models["serving"]["loaded_from"] == "shipped:" + std::string(preset));
    const json status = answer(client, "status");
    CHECK(status["mode"] == "shadow");
    CHECK(status["model_step"] == 0);
    CHECK(status["model_from"] == "shipped:" + std::string(preset));
    CHECK(audited_at_start(client).starts_with("initial network loaded: shipped:" + std::string(preset)));
  }
}

TEST_CASE("a controller's own checkpoint serves after a restart instead of the shipped network") {
  if (cannot_learn()) return;
  World world(1);
  world.start();
  {
    auto client = world.ask_client(world.operator_key);
    CHECK(answer(client, "models")["serving"]["network_sha256"] == untrained_digest());
    CHECK(audited_at_start(client).empty());
    answer(client, "model-save", {{"name", "mine"}});
    answer(client, "model-load", {{"name", "mine"}});  // so that the checkpoint has content to save
  }
  world.controller.reset();
  world.config.models_dir = kShipped;
  world.start();
  auto client = world.ask_client(world.operator_key);
  const json models = answer(client, "models");
  CHECK(models["serving"]["network_sha256"] == untrained_digest());
  CHECK(models["serving"]["loaded_from"] == "1");
  CHECK(audited_at_start(client).empty());
}

TEST_CASE("a damaged, incompatible or missing network is reported and not loaded; having none is no error") {
  if (cannot_learn()) return;
  std::ifstream in(kShipped + "/ee.safetensors", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  REQUIRE_FALSE(bytes.empty());
  std::string damaged = bytes;
  damaged[damaged.size() - 3] ^= 1;
  auto model = models::parse_safetensors(bytes, "ee").value();
  model.metadata["feature_schema"] = "another";
  struct Case {
    std::string bytes, pretrained, said;
  };
  const std::vector<Case> cases{{damaged, "auto", "is damaged"},
                                {models::to_safetensors(model), "auto", "schema another"},
                                {bytes, "", "/not-there.safetensors"},
                                {bytes, "none", ""}};
  for (const Case& each : cases) {
    CAPTURE(each.said);
    World world(1);
    REQUIRE(std::filesystem::create_directory(world.dir / "models"));
    REQUIRE(write_file_atomically(world.dir / "models/ee.safetensors", each.bytes));
    world.config.models_dir = world.dir / "models";
    world.config.decide.reward.preset = placement::Preset::ee;
    world.config.learn.pretrained = each.pretrained.empty() ? world.dir / "not-there.safetensors" : each.pretrained;
    world.start();
    auto client = world.ask_client(world.operator_key);
    const json models = answer(client, "models");
    CHECK(models["serving"]["network_sha256"] == untrained_digest());
    CHECK(models["serving"]["loaded_from"] == nullptr);
    const std::string audited = audited_at_start(client);
    if (each.said.empty()) {
      CHECK(audited.empty());
    } else {
      CHECK(audited.starts_with("not done: initial network loaded: "));
      CHECK(audited.find(each.said) != std::string::npos);
    }
  }
}

TEST_CASE("a configured file replaces the shipped network, and a preset without a shipped network is no error") {
  if (cannot_learn()) return;
  World world(1);
  world.config.models_dir = "/nowhere";
  world.config.decide.reward.preset = placement::Preset::ee;
  world.config.learn.pretrained = kShipped + "/ee.safetensors";
  world.start();
  {
    auto client = world.ask_client(world.operator_key);
    const json models = answer(client, "models");
    CHECK(models["serving"]["network_sha256"] == shipped_digest("ee"));
    CHECK(models["serving"]["loaded_from"] == world.config.learn.pretrained);
  }
  World other(1);
  other.config.models_dir = kShipped;
  other.config.decide.reward.preset = placement::Preset::lc;
  other.start();
  auto client = other.ask_client(other.operator_key);
  CHECK(answer(client, "models")["serving"]["network_sha256"] == untrained_digest());
  CHECK(audited_at_start(client).empty());
}
