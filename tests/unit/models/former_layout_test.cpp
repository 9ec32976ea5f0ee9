// A network of the layout that had fewer inputs: whatever is known now, it says what it said.
#include "models/frozen/former_layout.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/digest.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/frozen/safetensors.hpp"
#include "observations.hpp"

namespace wattle::models {

using namespace test;

namespace {

// As a program of the former layout drew and kept it.
Weights former_weights(std::uint64_t seed) {
  Weights drawn = weights(seed);
  Random random(seed + 1);
  for (const char* name : {"node.0.weight", "ask.weight"}) {
    const std::size_t rows = std::string(name) == "ask.weight" ? 24 : 32;
    Tensor& tensor = drawn.at(name);
    tensor.shape = {static_cast<std::int64_t>(rows), 64};
    tensor.values.resize(rows * 64);
    for (float& value : tensor.values) value = uniform(random, -0.3, 0.3);
  }
  return drawn;
}

std::vector<double> dense(const std::vector<double>& x, const Tensor& w, const std::vector<double>& bias, bool relu) {
  std::vector<double> out = bias;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += x[i] * static_cast<double>(w.values[i * out.size() + j]);
  for (double& each : out) each = relu ? std::max(each, 0.0) : each;
  return out;
}
std::vector<double> of(const Tensor& tensor) { return {tensor.values.begin(), tensor.values.end()}; }
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// What docs/reference/networks.md says, of 32, 16 and 8 inputs and nothing else; all nodes are valid.
std::vector<double> former_residual(const Weights& w, const Observation& o) {
  std::vector<std::vector<double>> nodes;
  std::vector<double> shared(192, 0.0);
  for (std::size_t i = 0; i < o.nodes; ++i) {
    const auto begin = o.node.begin() + static_cast<std::ptrdiff_t>(i * kNodeFeatures);
    const auto first = dense({begin, begin + 32}, w.at("node.0.weight"), of(w.at("node.0.bias")), true);
    nodes.push_back(dense(first, w.at("node.1.weight"), of(w.at("node.1.bias")), true));
    for (std::size_t j = 0; j < 64; ++j) {
      shared[j] += nodes.back()[j] / static_cast<double>(o.nodes);
      shared[64 + j] = i == 0 ? nodes.back()[j] : std::max(shared[64 + j], nodes.back()[j]);
    }
  }
  std::vector<double> asked(o.pod.begin(), o.pod.begin() + 16);
  asked.insert(asked.end(), o.context.begin(), o.context.begin() + 8);
  const auto ask = dense(asked, w.at("ask.weight"), of(w.at("ask.bias")), true);
  std::copy(ask.begin(), ask.end(), shared.begin() + 128);
  const double value =
      dot(dense(shared, w.at("value.weight"), of(w.at("value.bias")), true), of(w.at("value.out.weight"))) +
      static_cast<double>(w.at("value.out.bias").values[0]);
  const auto head = dense(shared, w.at("advantage.shared.weight"), of(w.at("advantage.bias")), false);
  std::vector<double> out;
  for (const auto& node : nodes)
    out.push_back(dot(dense(node, w.at("advantage.node.weight"), head, true), of(w.at("advantage.out.weight"))));
  const double mean = std::accumulate(out.begin(), out.end(), 0.0) / static_cast<double>(out.size());
  for (double& each : out) each += value - mean;
  return out;
}

}  // namespace

TEST_CASE("a network of the former layout says the same of any inputs, whatever the new ones hold, to the last bit") {
  CHECK(rc::check([] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const Observation seen = observation(random, *rc::gen::inRange<std::size_t>(1, 20), 1.0);
    const Weights kept = former_weights(random());
    const auto network = FrozenNetwork::from_weights(kept, 0);
    RC_ASSERT(network.has_value());
    const auto said = residual(**network, seen);
    const auto wanted = former_residual(kept, seen);
    for (std::size_t i = 0; i < seen.nodes; ++i)
      RC_ASSERT(std::abs(static_cast<double>(said[i]) - wanted[i]) < 1e-3 * (1 + std::abs(wanted[i])));
    Observation other = seen;
    for (std::size_t i = 0; i < seen.nodes; ++i)
      for (std::size_t k = 32; k < kNodeFeatures; ++k) other.node[i * kNodeFeatures + k] = uniform(random, -4, 4);
    for (std::size_t k = 16; k < kPodFeatures; ++k) other.pod[k] = uniform(random, -4, 4);
    for (std::size_t k = 8; k < kContextFeatures; ++k) other.context[k] = uniform(random, -4, 4);
    RC_ASSERT(residual(**network, other) == said);
  }));
}

TEST_CASE("its digest stays when it is written out again, until it hears a new input") {
  const Weights kept = former_weights(5);
  Weights now;
  unflatten(flatten(kept, "kept").value(), {}, now);
  CHECK(now.at("node.0.weight").shape == std::vector<std::int64_t>{36, 64});
  CHECK(now.at("ask.weight").shape == std::vector<std::int64_t>{26, 64});
  CHECK(network_digest(now) == sha256_hex(to_safetensors({kept, {}})));
  CHECK(network_digest(kept) == network_digest(now));
  const std::vector<std::pair<std::string, std::size_t>> places{
      {"node.0.weight", 33 * 64 + 3}, {"ask.weight", 16 * 64 + 3}, {"ask.weight", 25 * 64 + 3}};
  for (const auto& place : places) {
    Weights hears = now;
    CHECK(hears.at(place.first).values[place.second] == 0);
    hears.at(place.first).values[place.second] = 0.5F;
    CHECK(network_digest(hears) != network_digest(kept));
  }
}

TEST_CASE("its file is read where features are those that it leads to, and nowhere else; other sizes are refused") {
  const auto file_of = [](Weights tensors, std::string_view schema) {
    Safetensors model{std::move(tensors), {}};
    model.metadata = {{"feature_schema", std::string(schema)},
                      {"reward", "weighted"},
                      {"network_sha256", network_digest(model.tensors)}};
    return to_safetensors(model);
  };
  const auto read = [&](const std::string& bytes, std::string_view here) {
    return parse_pretrained(bytes, "x", std::string(here), "weighted");
  };
  CHECK(read(file_of(former_weights(1), kFormerSchema), kSchemaSince).has_value());
  CHECK(read(file_of(weights(1), kSchemaSince), kSchemaSince).has_value());
  CHECK(read(file_of(former_weights(1), kFormerSchema), "another").error().code == Errc::conflict);
  CHECK(read(file_of(weights(1), kSchemaSince), kFormerSchema).error().code == Errc::conflict);
  CHECK(read(file_of(former_weights(1), "unknown"), kSchemaSince).error().code == Errc::conflict);
  Weights odd = former_weights(1);
  odd.at("node.0.weight").shape = {33, 64};
  odd.at("node.0.weight").values.resize(33 * 64);
  CHECK(read(file_of(odd, kFormerSchema), kSchemaSince).error().code == Errc::malformed);
}

TEST_CASE("the same seed draws what it drew for the former layout, and new inputs are not heard at first") {
  const Weights drawn = initial_weights(3);
  for (std::size_t k = 32 * 64; k < 36 * 64; ++k) CHECK(drawn.at("node.0.weight").values[k] == 0);
  // As the program of the former layout had them (network_digest of initial_weights(3)).
  CHECK(network_digest(drawn) == "b931c935417f238809826c90bf9aff7b972be89d9abc82e88f0485550daa4a48");
}

TEST_CASE("experience of the former layout is kept, with 0 for what nobody knew then") {
  const auto tensor = [](std::int64_t rows, std::int64_t cols) {
    Tensor made{{rows, cols}, std::vector<float>(static_cast<std::size_t>(rows * cols))};
    std::iota(made.values.begin(), made.values.end(), 1.0F);
    return made;
  };
  Weights kept{{"x/node", tensor(4, 2 * 32)}, {"x/pod", tensor(3, 16)}, {"x/context", tensor(3, 8)}};
  CHECK_FALSE(is_former_experience(kept, "y/", 2));
  CHECK_FALSE(is_former_experience(kept, "x/", 1));
  REQUIRE(is_former_experience(kept, "x/", 2));
  widen_experience(kept, "x/");
  CHECK_FALSE(is_former_experience(kept, "x/", 2));
  CHECK(kept.at("x/node").shape == std::vector<std::int64_t>{4, 2 * 36});
  CHECK(kept.at("x/pod").shape == std::vector<std::int64_t>{3, 17});
  CHECK(kept.at("x/context").shape == std::vector<std::int64_t>{3, 9});
  const auto& node = kept.at("x/node").values;
  REQUIRE(node.size() == 4 * 2 * 36);
  CHECK(node[31] == 32);
  CHECK(node[32] == 0);
  CHECK(node[35] == 0);
  CHECK(node[36] == 33);
  CHECK(kept.at("x/pod").values[17] == 17);
  CHECK(kept.at("x/context").values[8] == 0);
}

}  // namespace wattle::models
