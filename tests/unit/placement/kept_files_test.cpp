// Files of released formats are readable. They are hex texts in tests/fixtures/kept.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "models/frozen/safetensors.hpp"
#include "placement/cluster/cluster_model.hpp"
#include "placement/learn/learner.hpp"
#include "tests/places.hpp"

namespace wattle::placement {
namespace {

std::string kept(const std::string& name) {
  std::ifstream file(tests::source_dir() + "/tests/fixtures/kept/" + name);
  const std::string hex((std::istreambuf_iterator<char>(file)), {});
  std::string bytes, pair;
  for (const char digit : hex) {
    if (digit == '\n') continue;
    pair += digit;
    if (pair.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(pair, nullptr, 16));
    pair.clear();
  }
  REQUIRE_MESSAGE(!bytes.empty(), name);
  return bytes;
}

class IdleTrainer final : public models::QTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const>) override { return models::StepStats{}; }
  std::uint64_t steps() const override { return 0; }
  models::Weights weights() const override { return {}; }
  models::Weights checkpoint() const override { return {}; }
  Status restore(const models::Weights&) override { return {}; }
};

TEST_CASE("a cluster model of version 1 is read, and written unchanged") {
  ClusterModel model;
  const std::string bytes = kept("cluster-model-1.hex");
  REQUIRE(model.restore(bytes).has_value());
  CHECK(model.save({}) == bytes);
  CHECK(model.demand().apps() == 2);
  CHECK(model.pod_time().cpu_wait().price() == 40);
  CHECK(model.pod_time().late().price() == 2.5);
  CHECK(model.pod_time().latency_price() == 2.5);
  CHECK(model.pod_time().late().measured().value() == doctest::Approx(0.03));
  CHECK(model.pod_time().late().limit() == doctest::Approx(0.025));
}

TEST_CASE("a cluster model of another version is refused, and the model stays unchanged") {
  ClusterModel model;
  std::string bytes = kept("cluster-model-1.hex");
  REQUIRE(model.restore(bytes).has_value());
  const std::string before = model.save({});
  bytes[std::string_view("wattle-cluster-model ").size()] = '2';
  CHECK_FALSE(model.restore(bytes).has_value());
  CHECK_FALSE(model.restore(before.substr(0, before.size() - 1)).has_value());
  CHECK(model.save({}) == before);
}

TEST_CASE("a learner's checkpoint of format 1 is read, and written unchanged") {
  const auto weights = models::parse_safetensors(kept("learner-1.hex"), "learner-1.hex");
  REQUIRE(weights);
  IdleTrainer trainer;
  Learner learner(LearnerOptions{}, RewardConfig{}, trainer);
  const Status restored = learner.restore(weights->tensors);
  REQUIRE_MESSAGE(restored.has_value(), restored.error().message());
  CHECK_FALSE(learner.chain().empty());
  CHECK(models::to_safetensors({learner.save(), weights->metadata}) == kept("learner-1.hex"));
}

}  // namespace
}  // namespace wattle::placement
