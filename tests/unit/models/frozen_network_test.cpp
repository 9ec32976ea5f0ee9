#include "models/frozen/frozen_network.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>
#include <numeric>

#include "models/frozen/deepsets.hpp"
#include "observations.hpp"

namespace wattle::models {

using namespace test;

namespace {
std::shared_ptr<const FrozenNetwork> network(const Weights& weights) {
  auto made = FrozenNetwork::from_weights(weights, 7);
  REQUIRE(made);
  return *made;
}
}  // namespace

TEST_CASE("permuting the nodes permutes the residual") {
  CHECK(rc::check([] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const Observation o = observation(random, *rc::gen::inRange<std::size_t>(1, 65));
    std::vector<std::size_t> from(o.nodes);
    std::iota(from.begin(), from.end(), 0);
    std::shuffle(from.begin(), from.end(), random);
    const auto net = network(weights(random()));
    const auto plain = residual(*net, o);
    const auto moved = residual(*net, permuted(o, from));
    std::vector<float> expected;
    for (const std::size_t i : from) expected.push_back(plain[i]);
    RC_ASSERT(largest_difference(moved, expected) < 1e-4F);
  }));
}

TEST_CASE("invalid nodes change nothing, whatever their position and content") {
  CHECK(rc::check([] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const Observation o = observation(random, *rc::gen::inRange<std::size_t>(1, 65));
    Observation valid_only = o;
    valid_only.node.clear();
    valid_only.prior.clear();
    valid_only.valid.clear();
    Observation poisoned = o;
    for (std::size_t i = 0; i < o.nodes; ++i) {
      const auto begin = o.node.begin() + static_cast<std::ptrdiff_t>(i * kNodeFeatures);
      if (o.valid[i] != 0) {
        valid_only.node.insert(valid_only.node.end(), begin, begin + kNodeFeatures);
        valid_only.prior.push_back(o.prior[i]);
        valid_only.valid.push_back(1);
      } else {
        std::fill_n(&poisoned.node[i * kNodeFeatures], kNodeFeatures, std::numeric_limits<float>::quiet_NaN());
      }
    }
    valid_only.nodes = valid_only.valid.size();
    const auto net = network(weights(random()));
    const auto alone = residual(*net, valid_only);
    const auto among = residual(*net, poisoned);
    std::size_t next = 0;
    for (std::size_t i = 0; i < o.nodes; ++i) RC_ASSERT(among[i] == (o.valid[i] != 0 ? alone[next++] : 0.0F));
  }));
}

TEST_CASE("the mean of the residual over valid nodes is the value, so the advantages sum to zero") {
  CHECK(rc::check([] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const Observation o = observation(random, *rc::gen::inRange<std::size_t>(1, 65), 1.0);
    Weights without_advantage = weights(random());
    const auto whole = residual(*network(without_advantage), o);
    for (float& v : without_advantage.at("advantage.out.weight").values) v = 0;
    const auto value = residual(*network(without_advantage), o);
    float mean = 0;
    for (const float v : whole) mean += v / static_cast<float>(o.nodes);
    RC_ASSERT(std::abs(mean - value[0]) < 1e-4F);
  }));
}

TEST_CASE("the kernels of all processors agree") {
  Random random(3);
  AlignedFloats flat = *flatten(weights(3), "test");
  for (const std::size_t nodes : {1U, 2U, 3U, 4U, 5U, 63U, 64U, 65U, 130U}) {
    const Observation o = observation(random, nodes);
    std::vector<float> baseline(nodes);
    evaluate(baseline_kernels(), flat, o, baseline);
    for (const Kernels* kernels : usable_kernels()) {
      std::vector<float> out(nodes);
      evaluate(*kernels, flat, o, out);
      CHECK(largest_difference(out, baseline) < 1e-4F);
      // A node's score does not depend on its position.
      Observation alone = o;
      std::fill(alone.valid.begin(), alone.valid.end(), std::uint8_t{0});
      alone.valid[0] = 1;
      Observation same = alone;
      same.nodes = 1;
      same.node.resize(kNodeFeatures);
      same.prior.resize(1);
      same.valid.resize(1);
      std::vector<float> among(nodes), single(1);
      evaluate(*kernels, flat, alone, among);
      evaluate(*kernels, flat, same, single);
      CHECK(among[0] == single[0]);
    }
  }
}

TEST_CASE("an untrained network leaves the prior exactly unchanged") {
  Random random(4);
  const auto net = network(initial_weights(4));
  for (const float v : residual(*net, observation(random, 40))) CHECK(v == 0.0F);
  CHECK(net->step() == 7);
}

TEST_CASE("no nodes give an empty answer, and no valid nodes zeros") {
  Random random(5);
  const auto net = network(weights(5));
  CHECK(residual(*net, Observation{}).empty());
  Observation o = observation(random, 6);
  std::fill(o.valid.begin(), o.valid.end(), std::uint8_t{0});
  CHECK(residual(*net, o) == std::vector<float>(6, 0.0F));
}

TEST_CASE("the residual is finite for any finite input") {
  Random random(6);
  const auto net = network(weights(6));
  Observation o = observation(random, 9);
  for (const float extreme : {1e6F, 1e30F, std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()}) {
    std::fill(o.node.begin(), o.node.end(), extreme);
    for (const float v : residual(*net, o)) CHECK(std::isfinite(v));
  }
}

TEST_CASE("weights that do not fit are refused by name") {
  const Weights good = weights(8);
  const auto message = [](const Weights& bad) {
    const auto made = FrozenNetwork::from_weights(bad, 0, "some.safetensors");
    REQUIRE_FALSE(made);
    return made.error().message();
  };
  Weights bad = good;
  bad.erase("node.1.bias");
  CHECK(message(bad).find("some.safetensors: tensor node.1.bias is missing") != std::string::npos);
  bad = good;
  bad["node.2.bias"] = {{1}, {0}};
  CHECK(message(bad).find("node.2.bias is unknown") != std::string::npos);
  bad = good;
  bad["ask.bias"].shape = {8, 8};
  CHECK(message(bad).find("ask.bias has shape [8,8], not [64]") != std::string::npos);
  bad = good;
  bad["ask.bias"].values.pop_back();
  CHECK(message(bad).find("ask.bias") != std::string::npos);
  bad = good;
  bad["value.out.bias"].values[0] = std::numeric_limits<float>::infinity();
  CHECK(message(bad).find("value.out.bias has a value that is not finite") != std::string::npos);
}

}  // namespace wattle::models
