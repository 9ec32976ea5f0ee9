// What builds of before have written must be read by every later one. The files are hex texts in tests/fixtures/kept.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "common/digest.hpp"
#include "models/frozen/former_layout.hpp"
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

constexpr std::size_t kReal = 8;

// What version 5 has behind what version 4 had, of one who knows nothing of it.
std::size_t size_of_later() {
  PackWriter later;
  Budget().pack(later);
  RequestForecast().pack_scores(later);
  PairExcess().pack(later);
  return later.take().size();
}

std::string body_of(const std::string& bytes) {
  constexpr std::size_t kHead = 19 + 64 + 1;  // magic, digest, end of line
  return bytes.substr(kHead);
}

std::string knowledge_of(const std::string& version, const std::string& body) {
  return "wattle-knowledge " + version + "\n" + sha256_hex(body) + "\n" + body;
}

std::string version_4_of(const std::string& bytes) {
  const std::string body = body_of(bytes);
  return knowledge_of("4", body.substr(0, body.size() - size_of_later()));
}

TEST_CASE("knowledge of version 5 is read, and written as version 6: lateness and its price besides") {
  ClusterModel knowledge;
  const std::string bytes = kept("knowledge-5.hex");
  REQUIRE(knowledge.restore(bytes).has_value());
  CHECK(knowledge.save({}) == knowledge_of("6", body_of(bytes)));  // it knows no pairs
  CHECK(knowledge.cpu_wait().price() == 40);
  CHECK(knowledge.late().price() == 2.5);
  CHECK(knowledge.latency_price() == 2.5);
  CHECK(knowledge.late().measured().value() == doctest::Approx(0.03));
  CHECK(knowledge.late().limit() == doctest::Approx(0.025));
}

TEST_CASE("pairs that knowledge of version 5 suspected still are") {
  PackWriter pairs;
  for (const std::uint64_t word : {1U, 7U, 8U}) pairs.word(word);
  for (const double value : {0.3, 1800.0, 0.0}) pairs.real(value);
  const std::string body = body_of(ClusterModel().save({}));
  ClusterModel knowledge;
  REQUIRE(knowledge.restore(knowledge_of("5", body.substr(0, body.size() - kReal) + pairs.take())).has_value());
  CHECK(knowledge.pair_excess().expected(7, AppId{8}) > 0.2);
}

TEST_CASE("knowledge of version 4 is read: the price, the limit, what waited besides, and nothing of what came later") {
  ClusterModel knowledge;
  const std::string bytes = kept("knowledge-4.hex");
  REQUIRE(knowledge.restore(bytes).has_value());
  CHECK(version_4_of(knowledge.save({})) == bytes);
  CHECK_FALSE(knowledge.late().measured().has_value());
  CHECK(knowledge.latency_price() == 1);
  CHECK(knowledge.forecast().hour().score().judged == 0);
  CHECK(knowledge.trust() == 0);
  CHECK(knowledge.demand().apps() == 2);
  CHECK(knowledge.cpu_wait().price() == 40);
  CHECK(knowledge.cpu_wait().measured().value() == doctest::Approx(0.02));
  CHECK(knowledge.cpu_wait().limit() == doctest::Approx(0.055));
}

// The body of knowledge of version 4 as version 3 had it: of the budget a price and three shares with their seconds. Behind it are the
// fleet's waiting, no node's, and the variance of requests.
std::string body_of_version_3(const std::string& body, std::initializer_list<double> budget) {
  PackWriter behind, old;
  WaitingModel().pack(behind);
  const std::size_t after = behind.take().size() + 2 * kReal, now = 10 * kReal;
  for (const double value : budget) old.real(value);
  return body.substr(0, body.size() - after - now) + old.take() + body.substr(body.size() - after);
}

TEST_CASE(
    "knowledge of version 3, whose shares of waiting are means over time, and of 2, without the variance, is read") {
  ClusterModel now;
  REQUIRE(now.restore(kept("knowledge-1.hex")).has_value());
  const std::string bytes = now.save({}), version4 = version_4_of(bytes);
  const std::string nothing = body_of_version_3(body_of(version4), {0, 0, 0, 0, 0, 0, 0});
  const std::string cut = nothing.substr(0, nothing.size() - kReal);
  ClusterModel knowledge;
  REQUIRE(knowledge.restore(knowledge_of("2", cut)).has_value());
  CHECK(knowledge.save({}) == bytes);
  CHECK_FALSE(knowledge.restore(knowledge_of("3", cut)).has_value());
  REQUIRE(knowledge.restore(knowledge_of("3", nothing)).has_value());
  CHECK(knowledge.save({}) == bytes);
  CHECK_FALSE(knowledge.restore(knowledge_of("4", nothing)).has_value());
  REQUIRE(knowledge.restore(version4).has_value());
  CHECK(knowledge.save({}) == bytes);
  CHECK_FALSE(knowledge.restore(knowledge_of("5", body_of(version4))).has_value());

  const std::string known = body_of_version_3(body_of(version4), {40, 0.02, 3600, 0.03, 300, 0.05, 7200});
  REQUIRE(knowledge.restore(knowledge_of("3", known)).has_value());
  CHECK(knowledge.cpu_wait().price() == 40);
  CHECK(knowledge.cpu_wait().measured().value() == doctest::Approx(0.02));
  CHECK(knowledge.cpu_wait().limit() == doctest::Approx(0.055));
  CHECK(knowledge.demand().apps() == 2);
}

// These are of the layout that had fewer inputs.
models::Weights as_now(models::Weights tensors) {
  REQUIRE(models::is_former_experience(tensors, "replay/"));
  models::widen_experience(tensors, "replay/");
  return tensors;
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
  CHECK(learner.save().at("replay/node").values == as_now(weights->tensors).at("replay/node").values);
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

TEST_CASE("a learner's checkpoint of format 3 is read and written the same") {
  const auto weights = models::parse_safetensors(kept("learner-3.hex"), "learner-3.hex");
  REQUIRE(weights);
  IdleTrainer trainer;
  Learner learner(LearnerOptions{}, RewardConfig{}, trainer);
  const Status restored = learner.restore(weights->tensors);
  REQUIRE_MESSAGE(restored.has_value(), restored.error().message());
  CHECK_FALSE(learner.chain().empty());
  CHECK(models::to_safetensors({weights->tensors, weights->metadata}) == kept("learner-3.hex"));
  CHECK(models::to_safetensors({learner.save(), weights->metadata}) ==
        models::to_safetensors({as_now(weights->tensors), weights->metadata}));
}

}  // namespace
}  // namespace wattle::placement
