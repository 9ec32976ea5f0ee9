// Changes a trainer's reward preset. Each preset has its own network and its own reference network. Those of the former
// preset are kept under a name, so that a change back finds them; the new preset gets its kept ones, or else its
// initial ones (initial_network). A restart with the new preset ends in the same state.
#include <algorithm>

#include "controller/trainer/trainer.hpp"
#include "models/frozen/prefixed.hpp"
#include "models/frozen/pretrained.hpp"
#include "placement/learn/tabular.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {

namespace {

constexpr std::size_t kLookedAt = 64;  // kept decisions that show whether a network is shut

std::string text_of(placement::Preset preset) { return std::string(placement::to_string(preset)); }

}  // namespace

std::string kept_name(placement::Preset preset) { return std::string(kPresetModels) + text_of(preset); }

placement::RewardConfig Trainer::learned_by() const {
  placement::RewardConfig reward = reward_;
  reward.with_prior = origin_.on_prior;
  return reward;
}

bool Trainer::on_prior(const models::Manifest& manifest) const {
  return manifest.on_prior.value_or(
      models::had_prior(manifest.reward.empty() ? text_of(reward_.preset) : manifest.reward));
}

void Trainer::judge_by(const placement::RewardConfig& reward) {
  const bool other = reward.preset != reward_.preset;
  if (!(reward == reward_)) curves_.begin_reward();
  if (other) keep_for(text_of(reward_.preset), networks(), manifest());
  reward_ = reward;
  if (other) begin_preset();
  learner_.set_reward(learned_by());
  if (!other) return;
  serve();
  list_models();
}

// A network that began the preset and has learned nothing is found there again.
void Trainer::keep_for(const std::string& preset, const models::Weights& networks, const models::Manifest& manifest) {
  if (manifest.step == 0 && !manifest.trusted) return;
  if (const auto kept = checkpoints_.save_as(std::string(kPresetModels) + preset, networks, manifest); !kept) {
    own_.problem = kept.error().message();
    log_.error("preset.save_failed", "the network of the previous reward preset was not saved",
               {{"preset", preset}, {"error", kept.error()}});
  }
}

Status Trainer::begin_anew() {
  anchor_.release();
  trusted_.clear();
  trusted_chosen_ = false;
  slot_.trust(nullptr, {});
  origin_ = {};
  if (!begin_) return network_->restore(untrained_);
  WATTLE_TRY(const BegunNetwork begun, begin_(reward_));
  if (begun.first.fault)
    log_.error("preset.load_failed", "the network of the reward preset cannot be loaded",
               {{"error", *begun.first.fault}});
  WATTLE_CHECK(network_->restore(begun.trainer->checkpoint()));
  origin_ = begun.first.origin();
  if (begun.first.network) trust(network_->weights(), origin_, false);
  return {};
}

void Trainer::begin_preset() {
  const std::string name = kept_name(reward_.preset);
  if (const Status begun = begin_anew(); !begun) {
    own_.problem = begun.error().message();
    log_.error("preset.no_network", "no initial network is available for the reward preset",
               {{"error", begun.error()}});
  }
  const auto kept = checkpoints_.load(name, placement::feature_schema_hash());
  if (kept) {
    if (const Status taken = network_->restore(models::with_prefix(kept->tensors, models::kNetworkPrefix)); taken) {
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
  unsaved_ = true;
  from_step_ = steps_at_rate_ = network_->steps();
  serving_from_ = origin_.from;
  log_.info("preset.changed", "the reward preset has changed",
            {{"preset", text_of(reward_.preset)},
             {"network", origin_.from.empty() ? "none: the prior only" : origin_.from},
             {"step", network_->steps()}});
}

void Trainer::trust(const models::Weights& weights, const NetworkOrigin& origin, bool chosen) {
  auto frozen = placement::network_of(weights, network_->steps(), "network " + origin.from, origin.on_prior);
  if (const Status trusted = anchor_.trust(weights); !trusted || !frozen) {
    log_.error("anchor.disabled", "learning is not anchored to the trusted network",
               {{"network", origin.from}, {"error", !trusted ? trusted.error() : frozen.error()}});
    return;
  }
  trusted_ = weights;
  trusted_origin_ = origin;
  trusted_chosen_ = chosen;
  slot_.trust(std::move(*frozen),
              {models::network_digest(weights), origin.from, text_of(reward_.preset), origin.from, origin.certificate});
}

// The networks that manifest() describes.
models::Weights Trainer::networks() const {
  models::Weights all;
  models::add_prefixed(all, network_->checkpoint(), models::kNetworkPrefix);
  if (trusted_chosen_) models::add_prefixed(all, trusted_, models::kTrustedPrefix);
  return all;
}

// Trusts the network that the learned one of a checkpoint was held to, if an operator or a promotion chose it.
void Trainer::trust_kept(const models::LoadedCheckpoint& kept) {
  if (!kept.manifest.trusted) return;
  const models::TrustedNetwork& trusted = *kept.manifest.trusted;
  trust(models::with_prefix(kept.tensors, models::kTrustedPrefix),
        {trusted.name, trusted.on_prior, trusted.certificate}, true);
}

// The promoted network is trusted where no later choice is.
void Trainer::trust_promoted() {
  if (trusted_chosen_) return;
  const auto kept = checkpoints_.load(kPromotedModel, placement::feature_schema_hash());
  if (!kept || !fits_preset(kept->manifest)) return;
  trust(models::with_prefix(kept->tensors, models::kOnlinePrefix),
        {kPromotedModel, on_prior(kept->manifest), kept->manifest.certificate}, true);
}

bool Trainer::fits_preset(const models::Manifest& manifest) const {
  return manifest.reward.empty() || manifest.reward == text_of(reward_.preset);
}

// Earlier checkpoints do not name their preset, and a network of another preset may be shut here: it values all nodes
// alike, and since its heads are shut, gradients change only the common level, so that it would stay shut for ever. The
// network of `weighted` may be shut by intent.
bool Trainer::shut() const {
  const auto& chain = learner_.chain();
  if (reward_.preset == placement::Preset::weighted || network_->steps() == 0 || chain.empty()) return false;
  const auto network = placement::network_of(network_->weights(), network_->steps(), "network");
  if (!network) return false;
  std::vector<float> said;
  return std::all_of(chain.end() - static_cast<std::ptrdiff_t>(std::min(chain.size(), kLookedAt)), chain.end(),
                     [&](const placement::Experience& each) {
                       said.assign(each.observation.nodes, 0.0F);
                       (*network)->residual(each.observation, said);
                       return models::is_flat(each.observation, said);
                     });
}

}  // namespace wattle::controller
