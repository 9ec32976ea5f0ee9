#include "controller/web/model_json.hpp"

#include "controller/web/cluster_json.hpp"

namespace wattle::controller {

using json = SortedJson;

std::string models_text(const ModelList& list, const LearningFigures& learning) {
  json models = json::array();
  for (const models::ListedCheckpoint& each : list.checkpoints) {
    const bool read = !each.sha256.empty();
    const auto known = [&](json value) { return read ? std::move(value) : json(nullptr); };
    models.push_back({{"name", each.name},
                      {"named", each.named},
                      {"step", known(each.manifest.step)},
                      {"saved_wall_ns", known(to_ns(each.manifest.wall))},
                      {"schema", known(each.manifest.schema)},
                      {"sha256", text_or_null(each.sha256)},
                      {"network_sha256", text_or_null(each.manifest.network)},
                      {"bytes", known(each.bytes)},
                      {"active", read && each.fault.empty() && !list.serving_network.empty() &&
                                     each.manifest.network == list.serving_network},
                      {"fault", text_or_null(each.fault)}});
  }
  return json{{"models", std::move(models)},
              {"learning",
               {{"mean_reward", or_null(learning.mean_reward)},
                {"reward_centre", or_null(learning.reward_centre)},
                {"td_error", or_null(learning.td_error)},
                {"loss", or_null(learning.loss)}}},
              {"serving",
               {{"network_sha256", text_or_null(list.serving_network)},
                {"loaded_from", text_or_null(list.serving_from)},
                {"gated", text_or_null(list.gated)}}}}
      .dump();
}

}  // namespace wattle::controller
