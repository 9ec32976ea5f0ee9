// The trainer's answers to orders about networks; it runs on the trainer's thread.
#include "controller/trainer/model_orders.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/json/value.hpp"
#include "common/stats/welch.hpp"
#include "controller/trainer/make_network.hpp"
#include "controller/trainer/trainer.hpp"
#include "models/frozen/prefixed.hpp"
#include "models/frozen/pretrained.hpp"
#include "placement/learn/tabular.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

// Certificate of a network that was learned here: after a change of the preset and back it is tried again, not excluded
// for ever.
constexpr const char* kPromotedHere = "promoted on this cluster";

std::string text_of(const json& object) { return object.dump(); }

std::optional<std::size_t> best_row(const models::Observation& observation, const std::vector<float>& residual) {
  std::optional<std::size_t> best;
  const auto q = [&](std::size_t i) { return observation.prior[i] + residual[i]; };
  for (std::size_t i = 0; i < observation.nodes; ++i)
    if (observation.valid[i] != 0 && (!best || q(i) > q(*best))) best = i;
  return best;
}

// Outcomes that each of two networks that differ needs before their rewards are compared.
constexpr std::size_t kLeastOutcomes = 20;

// One network's side of a comparison.
struct Side {
  double max_abs_residual = 0;
  stats::Moments rewards;  // of placements that went where this network alone would have put them

  void saw(const models::Observation& observation, const std::vector<float>& residual) {
    for (std::size_t i = 0; i < observation.nodes; ++i)
      if (observation.valid[i] != 0)
        max_abs_residual = std::max(max_abs_residual, std::abs(static_cast<double>(residual[i])));
  }
  json told() const {
    return {{"taken", rewards.count()},
            {"mean_reward", rewards.count() > 0 ? json(rewards.mean()) : json(nullptr)},
            {"max_abs_residual", max_abs_residual}};
  }
};

// Both networks on the same decisions. Rewards count only where the two differ: elsewhere neither choice is better.
struct Comparison {
  Side serving, model;
  std::uint64_t decisions = 0, outcomes = 0, differ = 0;
  double apart = 0;

  void add(const placement::Experience& each, const std::vector<float>& of_serving,
           const std::vector<float>& of_model) {
    const models::Observation& observation = each.observation;
    const auto here = best_row(observation, of_serving), there = best_row(observation, of_model);
    if (!here || !there) return;
    ++decisions;
    outcomes += each.outcome ? 1 : 0;
    serving.saw(observation, of_serving);
    model.saw(observation, of_model);
    apart += apart_from_mean(observation, of_serving, of_model, each.action);
    if (*here == *there) return;
    ++differ;
    if (!each.outcome) return;
    if (each.action == *here) serving.rewards.add(each.reward);
    if (each.action == *there) model.rewards.add(each.reward);
  }

  // Difference of the networks for the chosen node, less their mean difference over all nodes: a common level changes
  // no choice.
  static double apart_from_mean(const models::Observation& observation, const std::vector<float>& a,
                                const std::vector<float>& b, std::uint32_t action) {
    stats::Moments all;
    for (std::size_t i = 0; i < observation.nodes; ++i)
      if (observation.valid[i] != 0) all.add(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    return std::abs(static_cast<double>(a[action]) - static_cast<double>(b[action]) - all.mean());
  }

  // Reward a decision that the model is worth more where the two differ.
  json difference() const {
    if (serving.rewards.count() < kLeastOutcomes || model.rewards.count() < kLeastOutcomes) return nullptr;
    const auto found = stats::welch_difference(model.rewards, serving.rewards);
    if (!found) return nullptr;
    return {{"mean", found->mean}, {"low", found->low}, {"high", found->high}};
  }
};

}  // namespace

void Trainer::obey(PendingOrder pending) { pending.answer.set_value(do_order(pending.order)); }

Result<std::string> Trainer::do_order(const ModelOrder& order) {
  using What = ModelOrder::What;
  if (order.what == What::eval) return evaluate_network(order.name, order.serving);
  if (order.what == What::load || order.what == What::bring_back) {
    const std::string name = order.what == What::load ? order.name : kPromotedModel;
    WATTLE_CHECK(load_network(name));
    return "step " + std::to_string(network_->steps()) + " from " + name;
  }
  const bool named = order.what == What::save || order.what == What::add;
  const std::string name = named ? order.name : kPromotedModel;
  if (named && name == kPromotedModel)
    return fail(Errc::conflict, "model " + name, "is reserved for the network of the last promotion",
                "choose another name");
  if (named && name.starts_with(kPresetModels))
    return fail(Errc::conflict, "model " + name, "is reserved for the network of a reward preset",
                "choose another name");
  if (order.what == What::add) return add_network(order);
  if (order.what == What::promoted && order.of_trusted && !trusted_.empty()) return keep_trusted();
  models::Weights network;
  models::add_prefixed(network, network_->checkpoint(), models::kNetworkPrefix);
  models::Manifest saved = manifest();
  saved.trusted.reset();  // the network alone
  if (name == kPromotedModel) saved.certificate = kPromotedHere;
  WATTLE_TRY(const std::string file, checkpoints_.save_as(name, network, saved));
  if (name == kPromotedModel) {
    trust(network_->weights(), {name, origin_.on_prior, kPromotedHere}, true);
    unsaved_ = true;
  }
  list_models();
  return "step " + std::to_string(network_->steps()) + " as " + name;
}

// Keeps the trusted network, which served; the promotion does not make the learning one trusted.
Result<std::string> Trainer::keep_trusted() {
  WATTLE_TRY(const auto network, make_network(config_, trusted_));
  models::Weights all;
  models::add_prefixed(all, network->checkpoint(), models::kNetworkPrefix);
  models::Manifest kept = manifest();
  kept.step = network->steps();
  kept.network = models::network_digest(trusted_);
  kept.on_prior = trusted_origin_.on_prior;
  kept.certificate = trusted_origin_.certificate;
  kept.trusted.reset();
  WATTLE_CHECK(checkpoints_.save_as(kPromotedModel, all, kept));
  list_models();
  return trusted_origin_.from + " as " + kPromotedModel;
}

// The network that serves goes on; this one waits for an order to load it.
Result<std::string> Trainer::add_network(const ModelOrder& order) {
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
  list_models();
  return given.network_sha256.substr(0, 12) + " as " + order.name;
}

Status Trainer::of_preset(const models::LoadedCheckpoint& loaded, const std::string& name) const {
  if (fits_preset(loaded.manifest)) return {};
  return fail(Errc::conflict, "model " + name,
              "was trained for the reward preset " + loaded.manifest.reward + ", and " +
                  std::string(placement::to_string(reward_.preset)) + " is in force",
              "wattle policy set --reward " + loaded.manifest.reward + " first");
}

Result<models::LoadedCheckpoint> Trainer::load_named(const std::string& name) const {
  auto loaded = checkpoints_.load(name, placement::feature_schema_hash());
  if (!loaded && loaded.error().code == Errc::not_found)
    return fail(Errc::not_found, "model " + name, "no stored network has that name",
                "list networks with `wattle model list`");
  return loaded;
}

// Whatever is wrong with it, the network of before goes on.
Status Trainer::load_network(const std::string& name) {
  WATTLE_TRY(const models::LoadedCheckpoint loaded, load_named(name));
  WATTLE_CHECK(of_preset(loaded, name));
  const models::Weights before = network_->checkpoint();
  Status taken = network_->restore(models::with_prefix(loaded.tensors, models::kNetworkPrefix));
  if (taken) {
    auto frozen = freeze_checked(*network_, config_.max_abs_residual, recent_, on_prior(loaded.manifest));
    if (!frozen) taken = forward_error(frozen);
  }
  if (!taken) {
    if (const Status back = network_->restore(before); !back)
      log_.error("network.restore_failed", "the previous network cannot be restored", {{"error", back.error()}});
    return fail(taken.error().code, "model " + name, taken.error().message(),
                "use another network: `wattle model list`");
  }
  unsaved_ = true;
  from_step_ = steps_at_rate_ = network_->steps();
  serving_from_ = name;
  origin_ = {name, on_prior(loaded.manifest), loaded.manifest.certificate};
  if (learner_.reward().with_prior != origin_.on_prior) learner_.set_reward(learned_by());
  trust(network_->weights(), origin_, true);
  serve();
  list_models();
  return {};
}

Result<std::string> Trainer::evaluate_network(const std::string& name, const ServingNow& now) const {
  WATTLE_TRY(const models::LoadedCheckpoint loaded, load_named(name));
  WATTLE_CHECK(of_preset(loaded, name));
  const auto serving = now.network ? now.network : slot_.get();
  if (!serving) return fail(Errc::unavailable, "model eval", "no network is in use");
  // Kept decisions have the prior that the learning network adds to.
  if (on_prior(loaded.manifest) != origin_.on_prior || serving->on_prior() != origin_.on_prior)
    return fail(Errc::conflict, "model " + name, "uses another prior than the network in use",
                "load it with wattle model load " + name);
  WATTLE_TRY(const auto other, placement::network_of(models::with_prefix(loaded.tensors, models::kOnlinePrefix),
                                                     loaded.manifest.step, "model " + name));
  const auto& chain = learner_.chain();
  if (chain.empty())
    return fail(Errc::not_found, "model eval", "no recorded decisions to replay", "wait for placements");
  Comparison compared;
  std::vector<float> a, b;
  constexpr std::size_t kMost = 2000;
  for (std::size_t i = chain.size() - std::min(chain.size(), kMost); i < chain.size(); ++i) {
    const placement::Experience& each = chain[i];
    a.assign(each.observation.nodes, 0.0F);
    b.assign(each.observation.nodes, 0.0F);
    serving->residual(each.observation, a);
    other->residual(each.observation, b);
    compared.add(each, a, b);
  }
  if (compared.decisions == 0) return fail(Errc::not_found, "model eval", "no recorded decision has a feasible node");
  const auto count = static_cast<double>(compared.decisions);
  json model = compared.model.told(), of_serving = compared.serving.told();
  model["name"] = name;
  model["step"] = loaded.manifest.step;
  of_serving["name"] = now.name.empty() ? json(nullptr) : json(now.name);
  of_serving["step"] = serving->step();
  of_serving["gated"] = now.gated.empty() ? json(nullptr) : json(now.gated);
  return text_of({{"eval",
                   {{"preset", placement::to_string(reward_.preset)},
                    {"decisions", compared.decisions},
                    {"outcomes", compared.outcomes},
                    {"differ", compared.differ},
                    {"same_choice_ratio", 1 - static_cast<double>(compared.differ) / count},
                    {"mean_abs_q_difference", compared.apart / count},
                    {"reward_difference", compared.difference()},
                    {"serving", std::move(of_serving)},
                    {"model", std::move(model)}}}});
}

void Trainer::list_models() {
  auto listed = checkpoints_.list(placement::feature_schema_hash());
  if (!listed) {
    log_.error("checkpoint.list_failed", "the checkpoints cannot be listed", {{"error", listed.error()}});
    return;
  }
  const std::lock_guard lock(mutex_);
  models_ = {std::move(*listed), serving_network_, serving_from_, {}};
}

void Trainer::draw_curves() {
  next_curves_ = clock_.mono() + Curves::kEvery;
  models::Scalars now{{"train/epsilon", config_.epsilon},
                      {"train/replay", static_cast<double>(learner_.figures().replay)},
                      {"train/reward_centre", learner_.figures().centre}};
  if (const auto error = learner_.figures().td_error) now.emplace_back("train/td_error", *error);
  if (own_.steps_per_s) now.emplace_back("train/steps_per_s", *own_.steps_per_s);
  if (const auto drawn = curves_.flush(network_->steps(), clock_.wall(), std::move(now)); !drawn) {
    if (own_.problem != drawn.error().message())
      log_.error("curves.write_failed", "the learning curves were not written", {{"error", drawn.error()}});
    own_.problem = drawn.error().message();
  }
}

}  // namespace wattle::controller
