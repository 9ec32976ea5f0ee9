// pretrained: the shipped policies are small, of this feature schema, finite, and each has a card that says how to
// reproduce it.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/frozen/safetensors.hpp"
#include "placement/worth/features.hpp"
#include "sim/env/env.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

const std::filesystem::path kFolder = std::filesystem::path(tests::source_dir()) / "models" / "pretrained";

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

constexpr std::size_t kPlanKnown = 10, kLife = 14;  // indexes of pod features

// Returns whether the output for these nodes is non-zero; it must be finite.
bool says(const models::QNetwork& network, const models::Observation& observation) {
  std::vector<float> out(observation.nodes, 0.0F);
  network.residual(observation, out);
  bool something = false;
  for (const float value : out) {
    CHECK(std::isfinite(value));
    something = something || value != 0;
  }
  return something;
}

}  // namespace

TEST_CASE("every shipped policy loads, is small, decides, and has a card with its command, seeds, scores and limits") {
  std::size_t shipped = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".safetensors") continue;
    ++shipped;
    const std::string name = entry.path().stem();
    CAPTURE(name);
    const std::string bytes = text_of(kFolder / (name + ".safetensors"));
    REQUIRE_FALSE(bytes.empty());
    CHECK(bytes.size() <= 200'000);
    const auto model = models::parse_safetensors(bytes, name);
    REQUIRE(model);
    CHECK(model->metadata.at("feature_schema") == placement::feature_schema_hash());
    CHECK(model->metadata.at("reward") == name);
    CHECK(models::parse_pretrained(bytes, name, placement::feature_schema_hash(), name));  // as a controller reads it
    const auto network = models::FrozenNetwork::from_weights(model->tensors, 0, name);
    REQUIRE(network);

    EnvOptions options;
    options.scenario = find_scenario("churn_sleep").value();
    options.scenario.placements = 5;
    options.reward.preset = placement::parse_preset(name).value();
    Env env(options);
    models::Observation seen = env.reset(1).observation;
    REQUIRE(placement::kPodFeatureSpecs[kPlanKnown].name == "plan_known");
    CHECK((seen.pod[kPlanKnown] == 1.0F) == (name == "weighted"));  // other rewards have no plan
    // Training with a plan and with churn leaves other decisions to the prior.
    REQUIRE(placement::kPodFeatureSpecs[kLife].name == "life");
    for (const bool planned : {false, true}) {
      for (const bool goes : {false, true}) {
        CAPTURE(planned);
        CAPTURE(goes);
        seen.pod[kPlanKnown] = planned ? 1 : 0;
        seen.pod[kLife] = goes ? 0.3F : 0;  // half an hour
        CHECK(says(**network, seen) == (name != "weighted" || (planned && goes)));
      }
    }

    const std::string card = text_of(kFolder / (name + ".md"));
    for (const char* word : {name == "weighted" ? "wattle-lab imitate" : "wattle-sim train", "--seed", "held-out seeds",
                             "[", "Limits", "synthetic"})
      CHECK_MESSAGE(card.find(word) != std::string::npos, word);
  }
  CHECK(shipped > 0);
}
