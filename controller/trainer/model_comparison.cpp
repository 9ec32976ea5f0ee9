#include "controller/trainer/model_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/json/value.hpp"
#include "common/stats/welch.hpp"
#include "models/frozen/prefixed.hpp"
#include "placement/learn/tabular.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

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
  json reported() const {
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

Result<std::string> compare_models(const std::string& name, const models::LoadedCheckpoint& loaded, bool on_prior,
                                   const ServingNow& now, const ServingModel::Network& serving,
                                   const placement::Learner& learner) {
  if (!serving) return fail(Errc::unavailable, "model eval", "no network is in use");
  // Kept decisions have the prior that the learning network adds to.
  const bool learns_on_prior = learner.reward().with_prior;
  if (on_prior != learns_on_prior || serving->on_prior() != learns_on_prior)
    return fail(Errc::conflict, "model " + name, "uses another prior than the network in use",
                "load it with wattle model load " + name);
  WATTLE_TRY(const auto other, placement::network_of(models::with_prefix(loaded.tensors, models::kOnlinePrefix),
                                                     loaded.manifest.step, "model " + name));
  const auto& chain = learner.chain();
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
  json model = compared.model.reported(), of_serving = compared.serving.reported();
  model["name"] = name;
  model["step"] = loaded.manifest.step;
  of_serving["name"] = now.name.empty() ? json(nullptr) : json(now.name);
  of_serving["step"] = serving->step();
  of_serving["gated"] = now.gated.empty() ? json(nullptr) : json(now.gated);
  return json{{"eval",
               {{"preset", placement::to_string(learner.reward().preset)},
                {"decisions", compared.decisions},
                {"outcomes", compared.outcomes},
                {"differ", compared.differ},
                {"same_choice_ratio", 1 - static_cast<double>(compared.differ) / count},
                {"mean_abs_q_difference", compared.apart / count},
                {"reward_difference", compared.difference()},
                {"serving", std::move(of_serving)},
                {"model", std::move(model)}}}}
      .dump();
}

}  // namespace wattle::controller
