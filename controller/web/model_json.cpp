#include "controller/web/model_json.hpp"

#include <nlohmann/json.hpp>

namespace wattle::controller {

using nlohmann::json;

std::string models_text(const ModelList& list) {
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
  return json{{"models", std::move(models)},
              {"serving", {{"network_sha256", text(list.serving_network)}, {"loaded_from", text(list.serving_from)}}}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace wattle::controller
