// preset_behaviour: the shipped networks of the thesis' presets on its scenarios: ee concentrates, lb spreads, el-rl
// follows users.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/frozen/safetensors.hpp"
#include "sim/env/evaluate.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

constexpr std::size_t kPlacements = 120, kSeeds = 3;

std::shared_ptr<const models::FrozenNetwork> shipped(const std::string& preset) {
  const auto file = std::filesystem::path(tests::source_dir()) / "models" / "pretrained" / (preset + ".safetensors");
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  const auto model = models::parse_safetensors(bytes.str(), preset);
  REQUIRE(model);
  auto network =
      models::FrozenNetwork::from_weights(model->tensors, 0, preset, models::taught_on_prior(model->metadata));
  REQUIRE(network);
  return *network;
}

// Means over placements with at least ten pods, and over seeds.
struct Behaviour {
  double fullest = 0;  // share of pods on the node with the most
  double spread = 0;   // pods on the fullest node minus those on the emptiest
  double near = 0;     // share of placements within their users' soft limit, or on the nearest node
};

Behaviour behaviour(const std::string& preset, const std::string& scenario, bool by_network) {
  EnvOptions options;
  options.scenario = find_scenario(scenario).value();
  options.scenario.placements = kPlacements;
  options.reward.preset = placement::parse_preset(preset).value();
  Env env(options);
  const auto network = shipped(preset);
  Contestant contestant{"kube-default", sim::Binding::unadvised};
  if (by_network) contestant = {"dqn", sim::Binding::advised, "dqn", network.get()};
  Behaviour out;
  double counted = 0, placed = 0;
  for (const std::uint64_t seed : seeds_from(kFirstHeldOutSeed, kSeeds)) {
    EpisodeTrace trace;
    REQUIRE(run_episode(env, contestant, seed, &trace));
    for (const auto& pods : trace.pods) {
      const double all = std::accumulate(pods.begin(), pods.end(), 0.0);
      if (all < 10) continue;
      const auto [least, most] = std::minmax_element(pods.begin(), pods.end());
      out.fullest += *most / all;
      out.spread += static_cast<double>(*most - *least);
      counted += 1;
    }
    for (const bool near : trace.near) out.near += near ? 1 : 0;
    placed += static_cast<double>(trace.near.size());
  }
  REQUIRE(counted > 50);
  REQUIRE(placed > 50);
  out.fullest /= counted;
  out.spread /= counted;
  out.near /= placed;
  return out;
}

constexpr std::array kPlayed{"thesis_test1", "thesis_test2", "latency_shift"};

}  // namespace

TEST_CASE(
    "the network for ee concentrates: nearly all pods are on one of three nodes, while the default spreads them") {
  for (const char* scenario : kPlayed) {
    CAPTURE(scenario);
    const Behaviour own = behaviour("ee", scenario, true), base = behaviour("ee", scenario, false);
    CHECK(own.fullest > 0.8);
    CHECK(base.fullest < 0.6);
  }
}

TEST_CASE("the network for lb spreads: no node has much more than a third of the pods") {
  for (const char* scenario : kPlayed) {
    CAPTURE(scenario);
    const Behaviour own = behaviour("lb", scenario, true);
    CHECK(own.fullest < 0.45);
    CHECK(own.spread < 3);
  }
}

TEST_CASE("the network for el-rl follows the lowest latency through its shifts, and the default does not") {
  for (const char* scenario : kPlayed) {
    CAPTURE(scenario);
    const Behaviour own = behaviour("el-rl", scenario, true), base = behaviour("el-rl", scenario, false);
    CHECK(own.near > 0.9);
    CHECK(base.near < 0.8);
  }
}
