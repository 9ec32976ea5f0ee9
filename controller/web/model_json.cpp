#include "controller/web/model_json.hpp"

#include "common/json/value.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

// Figures are null until enough decisions were compared.
json compared_json(const placement::OffPolicyEstimate& one) {
  const auto known = [&](double value) { return one.told() ? json(value) : json(nullptr); };
  const double half = one.half_width();
  const auto differing = one.differing_worth();
  const auto worth = [&](double value) { return differing ? json(value) : json(nullptr); };
  const placement::OffPolicyEstimate::Worth each = differing.value_or(placement::OffPolicyEstimate::Worth{});
  return {{"reference", one.reference},
          {"decisions", one.samples},
          {"differ", one.differ},
          {"differ_ratio", known(one.differ_ratio())},
          {"regret", known(one.regret())},
          {"regret_low", known(one.regret() - half)},
          {"regret_high", known(one.regret() + half)},
          {"differing_worth", worth(each.mean)},
          {"differing_worth_low", worth(each.low())},
          {"differing_worth_high", worth(each.high())},
          {"outcomes_own", one.matched_own},
          {"outcomes_reference", one.matched_reference}};
}

}  // namespace

std::string models_text(const ModelList& list, std::span<const placement::OffPolicyEstimate> compared,
                        const LearningFigures& learning) {
  json models = json::array();
  const auto text = [](const std::string& value) { return value.empty() ? json(nullptr) : json(value); };
  for (const models::ListedCheckpoint& each : list.checkpoints) {
    const bool read = !each.sha256.empty();
    const auto known = [&](json value) { return read ? std::move(value) : json(nullptr); };
    models.push_back({{"name", each.name},
                      {"named", each.named},
                      {"step", known(each.manifest.step)},
                      {"saved_wall_ns", known(to_ns(each.manifest.wall))},
                      {"schema", known(each.manifest.schema)},
                      {"sha256", text(each.sha256)},
                      {"network_sha256", text(each.manifest.network)},
                      {"bytes", known(each.bytes)},
                      {"active", read && each.fault.empty() && !list.serving_network.empty() &&
                                     each.manifest.network == list.serving_network},
                      {"fault", text(each.fault)}});
  }
  json references = json::array();
  for (const placement::OffPolicyEstimate& one : compared) references.push_back(compared_json(one));
  const auto figure = [](const std::optional<double>& value) { return value ? json(*value) : json(nullptr); };
  return json{{"models", std::move(models)},
              {"learning",
               {{"mean_reward", figure(learning.mean_reward)},
                {"reward_centre", figure(learning.reward_centre)},
                {"td_error", figure(learning.td_error)},
                {"loss", figure(learning.loss)}}},
              {"compared", std::move(references)},
              {"serving",
               {{"network_sha256", text(list.serving_network)},
                {"loaded_from", text(list.serving_from)},
                {"gated", text(list.gated)}}}}
      .dump();
}

}  // namespace wattle::controller
