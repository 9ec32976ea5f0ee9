#include "controller/trainer/network_store.hpp"

#include <cmath>
#include <utility>

#include "controller/trainer/make_network.hpp"
#include "models/frozen/prefixed.hpp"
#include "models/frozen/pretrained.hpp"
#include "placement/learn/tabular.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {
namespace {

// Certificate of a network that was promoted here.
constexpr const char* kPromotedHere = "promoted on this cluster";

std::string text_of(placement::Preset preset) { return std::string(placement::to_string(preset)); }

// Equal to the digest in a checkpoint of the same network.
std::string digest_of(const models::QTrainer& network) { return models::network_digest(network.weights()); }

// Under such a reward a learned network serves once measured blocks show that it costs less
// (placement/judge/candidate_trials). Anchored to the trusted network, it could hardly abandon choices that its rewards
// contradict.
bool joules_judge(const placement::RewardConfig& reward) {
  return reward.preset == placement::Preset::weighted && reward.weights.energy > 0;
}

}  // namespace

std::string kept_name(placement::Preset preset) { return std::string(kPresetModels) + text_of(preset); }

Result<ServingModel::Network> freeze_checked(const models::QTrainer& trainer, double max_abs_residual,
                                             const std::deque<models::Observation>& recent, bool on_prior) {
  WATTLE_TRY(auto frozen, placement::network_of(trainer.weights(), trainer.steps(), "trained network", on_prior));
  std::vector<float> out;
  for (const models::Observation& observation : recent) {
    out.assign(observation.nodes, 0.0F);
    frozen->residual(observation, out);
    for (const float residual : out) {
      if (!std::isfinite(residual) || std::abs(static_cast<double>(residual)) > max_abs_residual)
        return fail(Errc::out_of_range, "trained network",
                    "returned " + std::to_string(residual) + " on a recent decision",
                    "it is not used, and learning continues from the network that serves");
    }
  }
  return ServingModel::Network(std::move(frozen));
}

NetworkStore::NetworkStore(const LearnConfig& config, const placement::RewardConfig& reward,
                           models::CheckpointDir checkpoints, models::QTrainer& network, ServingModel& slot,
                           const NetworkOrigin& origin, BeginNetwork begin, const Clock& clock, const Log& log)
    : config_(config),
      reward_(reward),
      checkpoints_(std::move(checkpoints)),
      network_(network),
      untrained_(network.checkpoint()),
      slot_(slot),
      origin_(origin),
      begin_(std::move(begin)),
      clock_(clock),
      log_(log),
      trusted_(network, slot, log),
      serving_from_(origin.from) {
  if (!origin.from.empty()) trusted_.trust(network_.weights(), origin, reward_.preset, false);
}

placement::RewardConfig NetworkStore::learned_by() const {
  placement::RewardConfig reward = reward_;
  reward.with_prior = origin_.on_prior;
  return reward;
}

bool NetworkStore::on_prior(const models::Manifest& manifest) const {
  return manifest.on_prior.value_or(
      models::had_prior(manifest.reward.empty() ? text_of(reward_.preset) : manifest.reward));
}

bool NetworkStore::fits_preset(const models::Manifest& manifest) const {
  return manifest.reward.empty() || manifest.reward == text_of(reward_.preset);
}

// An unusable checkpoint is not changed; learning starts from scratch.
std::optional<models::LoadedCheckpoint> NetworkStore::newest() const {
  auto loaded = checkpoints_.load_newest(placement::feature_schema_hash());
  if (loaded) {
    for (const Error& skipped : loaded->skipped)
      log_.warn("checkpoint.skipped", "a checkpoint was skipped", {{"error", skipped}});
    return std::move(*loaded);
  }
  if (loaded.error().code == Errc::not_found) {
    log_.info("learning.started", "learning starts from scratch",
              {{"checkpoints", checkpoints_.path()}, {"why", loaded.error().what}});
  } else {
    log_.error("checkpoint.unusable", "the checkpoint is not usable; learning starts from scratch",
               {{"error", loaded.error()}});
  }
  return std::nullopt;
}

Status NetworkStore::restore(const models::LoadedCheckpoint& loaded) {
  return network_.restore(models::with_prefix(loaded.tensors, models::kNetworkPrefix));
}

void NetworkStore::resumed(const models::LoadedCheckpoint& loaded) {
  origin_ = {loaded.name, on_prior(loaded.manifest)};
  serving_from_ = loaded.name;
  from_step_ = network_.steps();
  trust_kept(loaded);
}

Status NetworkStore::save(const models::Weights& learner, const Figures& figures) {
  models::Weights all = networks();
  models::add_prefixed(all, learner, models::kLearnerPrefix);
  if (auto saved = checkpoints_.save(all, manifest(figures)); !saved) return forward_error(saved);
  return {};
}

Status NetworkStore::keep_for_preset(const Figures& figures) {
  return keep(text_of(reward_.preset), networks(), manifest(figures));
}

Status NetworkStore::keep_for_preset(const models::LoadedCheckpoint& loaded) {
  return keep(loaded.manifest.reward, models::without_prefix(loaded.tensors, models::kLearnerPrefix), loaded.manifest);
}

// The initial network of a preset, if it has learned nothing, need not be kept: it is still available.
Status NetworkStore::keep(const std::string& preset, const models::Weights& networks,
                          const models::Manifest& manifest) {
  if (manifest.step == 0 && !manifest.trusted) return {};
  auto kept = checkpoints_.save_as(std::string(kPresetModels) + preset, networks, manifest);
  if (kept) return {};
  log_.error("preset.save_failed", "the network of the previous reward preset was not saved",
             {{"preset", preset}, {"error", kept.error()}});
  return forward_error(kept);
}

Status NetworkStore::begin_initial() {
  trusted_.release();
  origin_ = {};
  if (!begin_) return network_.restore(untrained_);
  WATTLE_TRY(const BegunNetwork begun, begin_(reward_));
  if (begun.first.fault)
    log_.error("preset.load_failed", "the network of the reward preset cannot be loaded",
               {{"error", *begun.first.fault}});
  WATTLE_CHECK(network_.restore(begun.trainer->checkpoint()));
  origin_ = begun.first.origin();
  if (begun.first.network) trusted_.trust(network_.weights(), origin_, reward_.preset, false);
  return {};
}

Status NetworkStore::begin_preset() {
  const std::string name = kept_name(reward_.preset);
  Status begun = begin_initial();
  if (!begun)
    log_.error("preset.no_network", "no initial network is available for the reward preset",
               {{"error", begun.error()}});
  const auto kept = checkpoints_.load(name, placement::feature_schema_hash());
  if (kept) {
    if (const Status taken = restore(*kept); taken) {
      origin_ = {name, on_prior(kept->manifest)};
      trust_kept(*kept);
    } else {
      log_.error("preset.network_unusable", "the saved network of the reward preset is not usable",
                 {{"model", name}, {"error", taken.error()}});
    }
  } else if (kept.error().code != Errc::not_found) {
    log_.error("preset.network_unusable", "the saved network of the reward preset is not usable",
               {{"model", name}, {"error", kept.error()}});
  }
  trust_promoted();
  from_step_ = network_.steps();
  serving_from_ = origin_.from;
  log_.info("preset.changed", "the reward preset has changed",
            {{"preset", text_of(reward_.preset)},
             {"network", origin_.from.empty() ? "none: the prior only" : origin_.from},
             {"step", network_.steps()}});
  return begun;
}

// The networks that manifest() describes.
models::Weights NetworkStore::networks() const {
  models::Weights all;
  models::add_prefixed(all, network_.checkpoint(), models::kNetworkPrefix);
  if (trusted_.chosen()) models::add_prefixed(all, trusted_.weights(), models::kTrustedPrefix);
  return all;
}

// Trusts the network to which a checkpoint's learned one was anchored, if an operator or a promotion chose it.
void NetworkStore::trust_kept(const models::LoadedCheckpoint& kept) {
  if (!kept.manifest.trusted) return;
  const models::TrustedNetwork& trusted = *kept.manifest.trusted;
  trusted_.trust(models::with_prefix(kept.tensors, models::kTrustedPrefix),
                 {trusted.name, trusted.on_prior, trusted.certificate}, reward_.preset, true);
}

// Trusts the promoted network unless there is a later choice.
void NetworkStore::trust_promoted() {
  if (trusted_.chosen()) return;
  const auto kept = checkpoints_.load(kPromotedModel, placement::feature_schema_hash());
  if (!kept || !fits_preset(kept->manifest)) return;
  trusted_.trust(models::with_prefix(kept->tensors, models::kOnlinePrefix),
                 {kPromotedModel, on_prior(kept->manifest), kept->manifest.certificate}, reward_.preset, true);
}

Status NetworkStore::stepped(std::span<const models::Transition> batch) {
  if (joules_judge(reward_)) return {};
  return trusted_.stepped(batch);
}

Status NetworkStore::serve(const std::deque<models::Observation>& recent) {
  WATTLE_TRY(auto frozen, freeze_checked(network_, config_.max_abs_residual, recent, origin_.on_prior));
  serving_network_ = digest_of(network_);
  if (network_.steps() != from_step_) serving_from_.clear();
  slot_.set(std::move(frozen), {serving_network_, serving_from_, text_of(reward_.preset), origin_.from});
  return {};
}

models::Manifest NetworkStore::manifest(const Figures& figures) const {
  models::Manifest manifest;
  manifest.schema = placement::feature_schema_hash();
  manifest.step = network_.steps();
  manifest.wall = clock_.wall();
  manifest.figures = figures;
  manifest.network = digest_of(network_);
  manifest.reward = placement::to_string(reward_.preset);
  manifest.on_prior = origin_.on_prior;
  manifest.trusted = trusted_.described();
  return manifest;
}

Result<std::string> NetworkStore::save_as(const std::string& name, const Figures& figures) {
  models::Weights network;
  models::add_prefixed(network, network_.checkpoint(), models::kNetworkPrefix);
  models::Manifest saved = manifest(figures);
  saved.trusted.reset();  // only the network
  if (name == kPromotedModel) saved.certificate = kPromotedHere;
  WATTLE_CHECK(checkpoints_.save_as(name, network, saved));
  if (name == kPromotedModel)
    trusted_.trust(network_.weights(), {name, origin_.on_prior, kPromotedHere}, reward_.preset, true);
  return "step " + std::to_string(network_.steps()) + " as " + name;
}

// Keeps the trusted network, which served; the promotion does not make the learning one trusted.
Result<std::string> NetworkStore::keep_trusted(const Figures& figures) {
  WATTLE_TRY(const auto network, make_network(config_, trusted_.weights()));
  models::Weights all;
  models::add_prefixed(all, network->checkpoint(), models::kNetworkPrefix);
  models::Manifest kept = manifest(figures);
  kept.step = network->steps();
  kept.network = models::network_digest(trusted_.weights());
  kept.on_prior = trusted_.origin().on_prior;
  kept.certificate = trusted_.origin().certificate;
  kept.trusted.reset();
  WATTLE_CHECK(checkpoints_.save_as(kPromotedModel, all, kept));
  return trusted_.origin().from + " as " + kPromotedModel;
}

// The serving network continues to serve; this one waits for an order to load it.
Result<std::string> NetworkStore::add(const ModelOrder& order) {
  const std::string preset(placement::to_string(reward_.preset));
  WATTLE_TRY(const models::Pretrained given,
             models::parse_pretrained(order.network, "model " + order.name, placement::feature_schema_hash(), preset));
  WATTLE_TRY(const auto network, make_network(config_, given.weights));
  models::Weights all;
  models::add_prefixed(all, network->checkpoint(), models::kNetworkPrefix);
  models::Manifest manifest;
  manifest.schema = placement::feature_schema_hash();
  manifest.wall = clock_.wall();
  manifest.network = given.network_sha256;
  manifest.reward = preset;
  manifest.on_prior = given.on_prior;
  manifest.certificate = given.certificate;
  WATTLE_CHECK(checkpoints_.save_as(order.name, all, manifest));
  return given.network_sha256.substr(0, 12) + " as " + order.name;
}

Status NetworkStore::of_preset(const models::LoadedCheckpoint& loaded, const std::string& name) const {
  if (fits_preset(loaded.manifest)) return {};
  return fail(Errc::conflict, "model " + name,
              "was trained for the reward preset " + loaded.manifest.reward + ", and " +
                  std::string(placement::to_string(reward_.preset)) + " is in force",
              "wattle policy set --reward " + loaded.manifest.reward + " first");
}

Result<models::LoadedCheckpoint> NetworkStore::load_named(const std::string& name) const {
  auto loaded = checkpoints_.load(name, placement::feature_schema_hash());
  if (!loaded && loaded.error().code == Errc::not_found)
    return fail(Errc::not_found, "model " + name, "no stored network has that name",
                "list networks with `wattle model list`");
  if (loaded) WATTLE_CHECK(of_preset(*loaded, name));
  return loaded;
}

// If the network does not fit, the previous one continues to serve.
Status NetworkStore::load(const std::string& name, const std::deque<models::Observation>& recent) {
  WATTLE_TRY(const models::LoadedCheckpoint loaded, load_named(name));
  const models::Weights before = network_.checkpoint();
  Status taken = restore(loaded);
  if (taken) {
    auto frozen = freeze_checked(network_, config_.max_abs_residual, recent, on_prior(loaded.manifest));
    if (!frozen) taken = forward_error(frozen);
  }
  if (!taken) {
    if (const Status back = network_.restore(before); !back)
      log_.error("network.restore_failed", "the previous network cannot be restored", {{"error", back.error()}});
    return fail(taken.error().code, "model " + name, taken.error().message(),
                "use another network: `wattle model list`");
  }
  from_step_ = network_.steps();
  serving_from_ = name;
  origin_ = {name, on_prior(loaded.manifest), loaded.manifest.certificate};
  trusted_.trust(network_.weights(), origin_, reward_.preset, true);
  return {};
}

void NetworkStore::look() {
  auto listed = checkpoints_.list(placement::feature_schema_hash());
  if (listed)
    listed_ = std::move(*listed);
  else
    log_.error("checkpoint.list_failed", "the checkpoints cannot be listed", {{"error", listed.error()}});
}

}  // namespace wattle::controller
