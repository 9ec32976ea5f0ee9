#include "controller/web/model_json.hpp"

#include "common/json/value.hpp"

namespace wattle::controller {

using json = SortedJson;

std::string models_text(const ModelList& list, const LearningFigures& learning) {
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
  const auto figure = [](const std::optional<double>& value) { return value ? json(*value) : json(nullptr); };
  return json{{"models", std::move(models)},
              {"learning",
               {{"mean_reward", figure(learning.mean_reward)},
                {"reward_centre", figure(learning.reward_centre)},
                {"td_error", figure(learning.td_error)},
                {"loss", figure(learning.loss)}}},
              {"serving",
               {{"network_sha256", text(list.serving_network)},
                {"loaded_from", text(list.serving_from)},
                {"gated", text(list.gated)}}}}
      .dump();
}

}  // namespace wattle::controller
