// Every pair of reward presets: after a change the network of the new preset decides, or its prior, but never the
// former network. A change back restores the former network.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "controller/trainer/trainer.hpp"
#include "models/frozen/layout.hpp"
#include "models/frozen/prefixed.hpp"
#include "tests/unit/controller/live_rig.hpp"
#include "tests/unit/placement/preset_fleet.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using placement::Preset;
using placement::testing::kPresets;
using placement::testing::reward_of;

namespace {

std::string name_of(Preset preset) { return std::string(placement::to_string(preset)); }

// Scores the second node highest for every pod.
struct SecondNodeNetwork final : models::QNetwork {
  void residual(const models::Observation& observation, std::span<float> out) const override {
    for (std::size_t i = 0; i < observation.nodes; ++i) out[i] = i == 1 ? 1000.0F : 0.0F;
  }
  std::uint64_t step() const override { return 9; }
};

// Has a fixed number of steps; its value head identifies it.
class Stepped final : public models::QTrainer {
 public:
  explicit Stepped(float says = 0, std::uint64_t steps = 0) : steps_(steps) {
    weights_.at("value.out.bias").values[0] = says;
  }
  Result<models::StepStats> step(std::span<const models::Transition* const>) override {
    return fail(Errc::unsupported, "step", "is none of this test");
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return weights_; }
  models::Weights checkpoint() const override {
    models::Weights all;
    models::add_prefixed(all, weights_, "online.");
    all["steps"] = {{1}, {static_cast<float>(steps_)}};
    return all;
  }
  Status restore(const models::Weights& saved) override {
    weights_ = models::with_prefix(saved, "online.");
    steps_ = static_cast<std::uint64_t>(saved.at("steps").values[0]);
    return {};
  }

 private:
  models::Weights weights_ = models::initial_weights(1);
  std::uint64_t steps_;
};

bool ships(Preset preset) { return preset == Preset::ee || preset == Preset::lb; }
float says(Preset preset) { return 1 + static_cast<float>(preset); }

// Begins a preset as a controller does. Two presets ship a network here.
Result<BegunNetwork> begin_as_shipped(const placement::RewardConfig& reward) {
  BegunNetwork begun;
  begun.trainer = std::make_unique<Stepped>(ships(reward.preset) ? says(reward.preset) : 0.0F);
  if (!ships(reward.preset)) return begun;
  begun.first.network = models::Pretrained{begun.trainer->weights(), "file", "digest", false};
  begun.first.name = "shipped:" + name_of(reward.preset);
  return begun;
}

struct TrainerRig {
  std::string path = (std::filesystem::temp_directory_path() / "wattle-presets-XXXXXX").string();
  SystemClock clock;
  Log log = Log::silent();
  LearnConfig config;
  ServingModel slot;
  std::unique_ptr<Trainer> trainer;

  TrainerRig() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  TrainerRig(const TrainerRig&) = delete;
  TrainerRig& operator=(const TrainerRig&) = delete;
  ~TrainerRig() {
    trainer.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  void start(Preset preset, std::unique_ptr<models::QTrainer> network) {
    trainer.reset();
    auto started =
        Trainer::start(config, reward_of(preset), path, std::move(network), slot, clock, log, {}, begin_as_shipped);
    if (!started) FAIL(started.error().message());
    trainer = std::move(*started);
  }
  // News is processed before an order that was posted later.
  void change(Preset preset) {
    trainer->post(RewardNews{reward_of(preset)});
    REQUIRE(trainer->order({ModelOrder::What::save, "barrier"}).get());
  }
  ModelVersion version() const { return slot.serving().version; }
  float said() const {
    models::Observation seen;
    seen.nodes = 1;
    seen.node.assign(models::kNodeFeatures, 0.0F);
    seen.prior = {0};
    seen.valid = {1};
    std::vector<float> out(1);
    slot.get()->residual(seen, out);
    return out[0];
  }
};

}  // namespace

TEST_CASE("any change of preset: the trainer loads the shipped network or starts at the prior, and keeps the former") {
  for (const Preset from : kPresets)
    for (const Preset to : kPresets) {
      CAPTURE(name_of(from));
      CAPTURE(name_of(to));
      TrainerRig rig;
      rig.start(from, std::make_unique<Stepped>(0.5F, 7));  // learned here
      CHECK(rig.version().preset == name_of(from));
      rig.change(to);
      CHECK(rig.version().preset == name_of(to));
      if (from == to) {
        CHECK(rig.slot.get()->step() == 7);
        continue;
      }
      CHECK(rig.slot.get()->step() == 0);
      CHECK(rig.version().loaded_from == (ships(to) ? "shipped:" + name_of(to) : ""));
      CHECK(rig.version().began == rig.version().loaded_from);
      CHECK(rig.said() == (ships(to) ? says(to) : 0.0F));
      CHECK(rig.slot.get()->on_prior() == !ships(to));
      const auto refused = rig.trainer->order({ModelOrder::What::load, kept_name(from)}).get();
      REQUIRE_FALSE(refused);
      CHECK(refused.error().message().find("trained for the reward preset " + name_of(from)) != std::string::npos);
      rig.change(from);
      CHECK(rig.version().preset == name_of(from));
      CHECK(rig.version().loaded_from == kept_name(from));
      CHECK(rig.slot.get()->step() == 7);
      CHECK(rig.said() == 0.5F);
      CHECK(rig.slot.get()->on_prior());
    }
}

TEST_CASE("a preset that was changed while no learner ran has its own network at the next start; the former is kept") {
  TrainerRig rig;
  rig.start(Preset::weighted, std::make_unique<Stepped>(0.5F, 7));
  rig.change(Preset::lc);
  rig.change(Preset::weighted);  // the trainer has unsaved state at its end
  rig.start(Preset::ee, std::move(begin_as_shipped(reward_of(Preset::ee)).value().trainer));
  CHECK(rig.version().preset == "ee");
  CHECK(rig.said() == says(Preset::ee));
  rig.change(Preset::weighted);
  CHECK(rig.version().loaded_from == kept_name(Preset::weighted));
  CHECK(rig.said() == 0.5F);
}

TEST_CASE("reserved names of networks that a preset change keeps cannot be saved by hand") {
  TrainerRig rig;
  rig.start(Preset::ee, std::make_unique<Stepped>());
  const auto refused = rig.trainer->order({ModelOrder::What::save, kept_name(Preset::lb)}).get();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::conflict);
}

TEST_CASE("any change of preset: the former network is not used, and the prior decides until the new network arrives") {
  int pod = 0;
  for (const Preset from : kPresets)
    for (const Preset to : kPresets) {
      CAPTURE(name_of(from));
      CAPTURE(name_of(to));
      LiveRig rig;
      const auto take = [&](Preset preset) {
        RolloutSpec spec = rig.decider->spec();
        spec.reward = reward_of(preset);
        rig.decider->take(spec);
      };
      const auto decided = [&] {
        const std::string uid = "p" + std::to_string(++pod);
        const auto answer = rig.decider->asks().ask(ask_for(uid, {"n1", "n2"}));
        const wire::Decision& decision = rig.decider->log().newest(uid)->decision;
        CHECK(answer.neutral == (decision.decided_by == "neutral"));
        CHECK(answer.reason == decision.reason);
        return decision;
      };
      const auto serves = [&](Preset preset) {
        rig.networks.set(std::make_shared<SecondNodeNetwork>(), {"digest", "", name_of(preset), ""});
      };
      take(from);
      serves(from);
      const wire::Decision before = decided();
      const bool gated = rig.decider->engine().gated();
      CHECK(before.decided_by == (gated ? "plan" : "network"));
      if (!gated) CHECK(before.advice == "n2");
      take(to);
      const wire::Decision after = decided();
      CHECK((rig.decider->networks().in_use().network != nullptr) == (from == to));
      if (from != to) {
        const bool weighted = to == Preset::weighted;
        CHECK((after.decided_by == "neutral" ||
               after.decided_by == (rig.decider->engine().gated() ? "plan" : "fallback")));
        CHECK(after.model_step == 0);
        if (after.decided_by == "fallback" && !weighted)
          CHECK(after.reason == "highest predicted reward for " + name_of(to) + ": no network is in use yet");
        if (after.decided_by == "neutral") CHECK(after.reason.starts_with("neutral: all 2 feasible nodes"));
      }
      serves(to);
      const wire::Decision then = decided();
      CHECK(then.decided_by == (rig.decider->engine().gated() ? "plan" : "network"));
      if (then.decided_by == "network") CHECK(then.advice == "n2");
    }
}
