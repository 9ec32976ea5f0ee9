#include "controller/web/model_json.hpp"

#include <nlohmann/json.hpp>

namespace wattle::controller {

using nlohmann::json;

namespace {

// Figures are null until enough decisions were compared.
json compared_json(const placement::OffPolicyEstimate& one) {
  const auto known = [&](double value) { return one.told() ? json(value) : json(nullptr); };
  const double share = one.differ_ratio(), half = one.half_width();
  const auto worth = [&](double value) { return one.told() && share > 0 ? json(value / share) : json(nullptr); };
  return {{"reference", one.reference},
          {"decisions", one.samples},
          {"differ", one.differ},
          {"differ_ratio", known(share)},
          {"regret", known(one.regret())},
          {"regret_low", known(one.regret() - half)},
          {"regret_high", known(one.regret() + half)},
          {"differing_worth", worth(one.difference)},
          {"differing_worth_low", worth(one.difference - half)},
          {"differing_worth_high", worth(one.difference + half)},
          {"outcomes_own", one.matched_own},
          {"outcomes_reference", one.matched_reference}};
}

}  // namespace

std::string models_text(const ModelList& list, std::span<const placement::OffPolicyEstimate> compared) {
  json models = json::array();
  const auto text = [](const std::string& value) { return value.empty() ? json(nullptr) : json(value); };
  for (const models::ListedCheckpoint& each : list.checkpoints) {
    const bool read = !each.sha256.empty();
    const auto known = [&](json value) { return read ? std::move(value) : json(nullptr); };
    models.push_back(
        {{"name", each.name},
         {"named", each.named},
         {"step", known(each.manifest.step)},
         {"saved_wall_ns", known(to_ns(each.manifest.wall))},
         {"schema", known(each.manifest.schema)},
         {"sha256", text(each.sha256)},
         {"network_sha256", text(each.manifest.network)},
         {"bytes", known(each.bytes)},
         {"active", read && !list.serving_network.empty() && each.manifest.network == list.serving_network},
         {"fault", text(each.fault)}});
  }
  json references = json::array();
  for (const placement::OffPolicyEstimate& one : compared) references.push_back(compared_json(one));
  return json{{"models", std::move(models)},
              {"compared", std::move(references)},
              {"serving", {{"network_sha256", text(list.serving_network)}, {"loaded_from", text(list.serving_from)}}}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace wattle::controller
