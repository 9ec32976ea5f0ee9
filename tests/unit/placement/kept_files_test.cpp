// What builds of before have written must be read by every later one. The files are hex texts in tests/fixtures/kept.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "common/digest.hpp"
#include "models/frozen/safetensors.hpp"
#include "placement/cluster_model.hpp"
#include "placement/learner.hpp"
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

PodSpec pod_of(const std::string& app) {
  PodSpec pod;
  pod.uid = "asked";
  pod.app = app;
  pod.request = {1, 1 << 30};
  return pod;
}

TEST_CASE("knowledge of version 1 is read: demand, lives and curves") {
  ClusterModel knowledge;
  REQUIRE(knowledge.restore(kept("knowledge-1.hex")).has_value());
  CHECK(knowledge.demand().apps() == 2);
  CHECK(knowledge.predict(pod_of("Deployment/heavy example.org/heavy:1")).cores ==
        doctest::Approx(0.89375).epsilon(1e-6));
  CHECK(knowledge.predict(pod_of("Deployment/light example.org/light:1")).cores ==
        doctest::Approx(0.10625).epsilon(1e-6));
  REQUIRE(knowledge.kept_curve("worker-1") != nullptr);
  CHECK(knowledge.kept_curve("worker-1")->samples() == 10);
  CHECK(knowledge.kept_curve("worker-1")->watts(0.5) == doctest::Approx(97.72).epsilon(1e-3));
}

TEST_CASE("knowledge of version 2, which ends before the variance of requests, is read") {
  ClusterModel now;
  REQUIRE(now.restore(kept("knowledge-1.hex")).has_value());
  const std::string magic = "wattle-knowledge 3\n", bytes = now.save({});
  constexpr std::size_t kDigest = 64, kReal = 8;
  const std::string body = bytes.substr(magic.size() + kDigest + 1);
  const std::string cut = body.substr(0, body.size() - kReal);
  ClusterModel knowledge;
  REQUIRE(knowledge.restore("wattle-knowledge 2\n" + sha256_hex(cut) + "\n" + cut).has_value());
  CHECK(knowledge.save({}) == bytes);
  CHECK_FALSE(knowledge.restore("wattle-knowledge 3\n" + sha256_hex(cut) + "\n" + cut).has_value());
}

TEST_CASE(
    "a learner's checkpoint of format 2, whose outcomes have no number, is read: experience, outcomes and figures") {
  const auto weights = models::parse_safetensors(kept("learner-2.hex"), "learner-2.hex");
  REQUIRE(weights);
  IdleTrainer trainer;
  RewardConfig reward;
  Learner learner(LearnerOptions{}, reward, trainer);
  const Status restored = learner.restore(weights->tensors);
  REQUIRE_MESSAGE(restored.has_value(), restored.error().message());
  CHECK(learner.save().at("replay/node").values == weights->tensors.at("replay/node").values);
  const std::vector<float> now = learner.save().at("replay/words").values;
  const std::vector<float>& then = weights->tensors.at("replay/words").values;
  std::size_t outcomes = 0;
  for (const Experience& experience : learner.chain()) {
    outcomes += experience.outcome ? 1 : 0;
    CHECK((!experience.outcome || experience.outcome->placement == 0));
  }
  CHECK(outcomes > 0);
  CHECK(now.size() == then.size() + 3 * outcomes);
  Learner again(LearnerOptions{}, reward, trainer);
  REQUIRE(again.restore(learner.save()).has_value());
  CHECK(again.save().at("replay/words").values == now);
}

}  // namespace
}  // namespace wattle::placement
