// Any sequence of changes of policy, reward and mode, of learning, of orders about networks and of restarts ends in the
// state of a fresh start with the last settings and the learned state.
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "controller/decisions/decider.hpp"
#include "controller/trainer/trainer.hpp"
#include "models/frozen/layout.hpp"
#include "models/frozen/prefixed.hpp"
#include "placement/worth/features.hpp"
#include "tests/unit/controller/helpers.hpp"
#include "tests/unit/placement/preset_fleet.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using placement::Preset;
using placement::testing::reward_of;
using namespace std::chrono_literals;

namespace {

constexpr const char* kCertified = "it was better on days that it was not taught on";

// Each step adds one to the score of every node.
class Counting final : public models::QTrainer {
 public:
  explicit Counting(float says = 0) { weights_.at("value.out.bias").values[0] = says; }
  Result<models::StepStats> step(std::span<const models::Transition* const>) override {
    ++steps_;
    weights_.at("value.out.bias").values[0] += 1;
    return models::StepStats{0.5, 0.25, 1, 0, steps_};
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
    if (!saved.contains("steps")) return fail(Errc::malformed, "network", "has no steps");
    weights_ = models::with_prefix(saved, "online.");
    steps_ = static_cast<std::uint64_t>(saved.at("steps").values[0]);
    return {};
  }

 private:
  models::Weights weights_ = models::initial_weights(1);
  std::uint64_t steps_ = 0;
};

// Begins a preset as a controller does: three ship a network, two of them with a certificate.
Result<BegunNetwork> begin_with_certificates(const placement::RewardConfig& reward) {
  BegunNetwork begun;
  const bool ships = reward.preset == Preset::weighted || reward.preset == Preset::ee || reward.preset == Preset::lb;
  begun.trainer = std::make_unique<Counting>(ships ? 100 * (1 + static_cast<float>(reward.preset)) : 0.0F);
  if (!ships) return begun;
  models::Pretrained& shipped = begun.first.network.emplace();
  shipped.weights = begun.trainer->weights();
  shipped.on_prior = reward.preset == Preset::weighted;
  shipped.certificate = reward.preset == Preset::lb ? "" : kCertified;
  begun.first.name = "shipped:" + std::string(placement::to_string(reward.preset));
  return begun;
}

// The network that serves a decision, and why.
struct Outcome {
  std::string preset, learned, trusted, certificate, serving;
  bool from_learned = false, gated = false;
  std::optional<stats::NetworkState> baseline, of_learned;
  std::string why;
  bool operator==(const Outcome&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& it) {
  return out << "preset " << it.preset << ", learned " << it.learned.substr(0, 8) << ", trusted "
             << it.trusted.substr(0, 8) << " (" << it.certificate << "), serving " << it.serving.substr(0, 8)
             << (it.from_learned ? " learned" : " trusted") << (it.gated ? ", gated" : "") << ", baseline "
             << (it.baseline ? stats::to_string(*it.baseline) : "none") << ": " << it.why;
}

struct SettingsRig {
  std::string path = (std::filesystem::temp_directory_path() / "wattle-settings-XXXXXX").string();
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  Log log = Log::silent();
  ControllerConfig config;
  RolloutSpec spec;
  std::vector<MonitorState> rows;
  std::unique_ptr<ServingModel> slot;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<ClusterState> state;
  DecisionSink sink;
  std::unique_ptr<Decider> decider;
  std::uint64_t decision = 0;

  SettingsRig() {
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary directory");
    config.measure_candidates = true;
    config.learn.warmup = config.learn.n_step = config.learn.freeze_every_steps = 1;
    config.learn.batch = 64;  // two placements fill a batch, so learn() is one step
    config.learn.steps_per_s = 1000;
    spec.mode = Mode::shadow;
    start();
  }
  SettingsRig(const SettingsRig&) = delete;
  SettingsRig& operator=(const SettingsRig&) = delete;
  ~SettingsRig() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  void start() {
    decider.reset();
    trainer.reset();
    slot = std::make_unique<ServingModel>();
    state = std::make_unique<ClusterState>(30s);
    config.mode = spec.mode;
    config.policy = spec.policy;
    config.decide.reward = spec.reward;
    auto begun = begin_with_certificates(spec.reward).value();
    trainer = Trainer::make(config.learn, spec.reward, path, std::move(begun.trainer), *slot, clock, log,
                            begun.first.origin(), begin_with_certificates)
                  .value();
    decider = std::make_unique<Decider>(
        config, *state, *slot, sink, clock, [this](LearningNews news) { trainer->post(std::move(news)); }, 1);
    for (const MonitorState& row : rows)
      if (!decider->restore(row)) throw std::runtime_error("row not restored: " + row.name);
    second();
  }
  void restart() {
    clock.advance(config.learn.checkpoint_every);
    trainer->turn();
    rows = decider->monitor_states();
    start();
  }
  void second() {
    clock.advance(1s);
    trainer->turn();
    decider->expire();
  }
  // Applies the change as the loop does for `wattle policy set`.
  void change(const RolloutSpec& wanted) {
    const bool reward_changed = !(wanted.reward == spec.reward);
    spec = wanted;
    decider->take(spec);
    if (reward_changed) trainer->post(RewardNews{spec.reward});
  }
  void learn() {
    for (int i = 0; i < 2; ++i) {
      models::Observation seen;
      seen.nodes = 2;
      seen.node.assign(2 * models::kNodeFeatures, 0.5F);
      seen.prior = {0.25F, 0};
      seen.valid = {1, 1};
      trainer->post(PlacedNews{++decision, seen, 0, clock.mono()});
      trainer->post(SettledNews{decision, placement::RawOutcome{}});
      clock.advance(1s);
    }
    trainer->turn();
  }
  // A refused order changes no setting.
  void order(ModelOrder::What what, const std::string& name = "") {
    auto answer = trainer->order({what, name});
    trainer->turn();
    static_cast<void>(answer.get());
  }
  Outcome now() {
    second();
    second();
    const ServingModel::Serving serving = slot->serving();
    const NetworkChoice::InUse in_use = decider->networks().in_use();
    Outcome out;
    out.preset = placement::to_string(spec.reward.preset);
    out.learned = serving.version.sha256;
    out.trusted = serving.trusted_version.sha256;
    out.certificate = serving.trusted_version.certificate;
    out.serving = in_use.version.sha256;
    out.from_learned = in_use.learned;
    out.gated = decider->engine().gated();
    const NetworkChoice::NetworkStates states = decider->networks().states();
    out.baseline = states.baseline;
    out.of_learned = states.learned;
    out.why = decider->engine().gated_why();
    return out;
  }
};

enum class Event { reward, energy, policy, mode, learn, save, load, promote, bring_back, restart, wait };

void play(SettingsRig& rig, Event change, std::size_t drawn) {
  constexpr std::array<Preset, 5> kPresets{Preset::weighted, Preset::ee, Preset::lb, Preset::power, Preset::weighted};
  constexpr std::array<const char*, 3> kPolicies{"dqn", "amortised", "kube-default"};
  constexpr std::array<double, 3> kEnergy{1, 2, 0};
  constexpr std::array<Mode, 3> kModes{Mode::shadow, Mode::live, Mode::off};
  RolloutSpec wanted = rig.spec;
  switch (change) {
    case Event::reward:
      wanted.reward.preset = kPresets[drawn % kPresets.size()];
      return rig.change(wanted);
    case Event::energy:
      wanted.reward.weights.energy = kEnergy[drawn % kEnergy.size()];
      return rig.change(wanted);
    case Event::policy:
      wanted.policy = kPolicies[drawn % kPolicies.size()];
      return rig.change(wanted);
    case Event::mode:
      wanted.mode = kModes[drawn % kModes.size()];
      return rig.change(wanted);
    case Event::learn:
      return rig.learn();
    case Event::save:
      return rig.order(ModelOrder::What::save, "mine");
    case Event::load:
      return rig.order(ModelOrder::What::load, "mine");
    case Event::promote:
      return rig.order(ModelOrder::What::promoted);
    case Event::bring_back:
      return rig.order(ModelOrder::What::bring_back);
    case Event::restart:
      return rig.restart();
    case Event::wait:
      return rig.second();
  }
}

}  // namespace

TEST_CASE(
    "another preset and back: the shipped network keeps its certificate, and is a candidate as after a fresh start") {
  for (const Preset other : {Preset::ee, Preset::power}) {
    SettingsRig rig;
    const Outcome before = rig.now();
    CHECK(before.certificate == kCertified);
    CHECK(before.baseline == stats::NetworkState::candidate);
    RolloutSpec wanted = rig.spec;
    wanted.reward = reward_of(other);
    rig.change(wanted);
    rig.now();
    wanted.reward = reward_of(Preset::weighted);
    rig.change(wanted);
    CHECK(rig.now() == before);
  }
}

TEST_CASE("other weights, or another policy and back, do not remove a certificate") {
  SettingsRig rig;
  const Outcome before = rig.now();
  for (const double energy : {2.0, 0.0, 1.0}) {
    RolloutSpec wanted = rig.spec;
    wanted.reward.weights.energy = energy;
    rig.change(wanted);
    if (energy > 0) CHECK(rig.now().baseline == stats::NetworkState::candidate);
  }
  for (const char* policy : {"amortised", "dqn"}) {
    RolloutSpec wanted = rig.spec;
    wanted.policy = policy;
    rig.change(wanted);
    rig.now();
  }
  CHECK(rig.now() == before);
}

TEST_CASE("a network that an operator loaded is trusted after a restart, and after another preset and back") {
  SettingsRig rig;
  rig.learn();
  rig.order(ModelOrder::What::save, "mine");
  rig.learn();
  rig.order(ModelOrder::What::load, "mine");
  const Outcome before = rig.now();
  CHECK(before.trusted == before.learned);
  rig.restart();
  CHECK(rig.now() == before);
  RolloutSpec wanted = rig.spec;
  wanted.reward = reward_of(Preset::ee);
  rig.change(wanted);
  rig.now();
  wanted.reward = reward_of(Preset::weighted);
  rig.change(wanted);
  CHECK(rig.now() == before);
}

TEST_CASE("any sequence of changes ends in the state of a fresh start with the last settings and the learned state") {
  const bool held = rc::check([] {
    const auto changes = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, static_cast<int>(Event::wait) + 1), rc::gen::inRange(0, 60)));
    SettingsRig rig;
    for (const auto& [change, drawn] : changes) play(rig, static_cast<Event>(change), static_cast<std::size_t>(drawn));
    const Outcome played = rig.now();
    rig.restart();
    const Outcome fresh = rig.now();
    rig.rows.clear();  // no candidate has evidence here, so a start without its rows is the same
    rig.start();
    const Outcome without_rows = rig.now();
    RC_LOG() << "played: " << played << "\n fresh: " << fresh << "\n fresh, no rows: " << without_rows << "\n";
    RC_ASSERT(played == fresh);
    RC_ASSERT(played == without_rows);
  });
  CHECK(held);
}
