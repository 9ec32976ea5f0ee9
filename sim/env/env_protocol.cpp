#include "sim/env/env_protocol.hpp"

#include <algorithm>

#include "common/json/value.hpp"
#include "placement/worth/features.hpp"

namespace wattle::sim {

namespace {

using json = SortedJson;

json error_json(const Error& error) {
  std::string code(to_string(error.code));
  std::replace(code.begin(), code.end(), ' ', '_');
  return {{"error", {{"code", code}, {"subject", error.subject}, {"what", error.what}, {"fix", error.fix}}}};
}

template <class Specs>
json names_of(const Specs& specs) {
  json names = json::array();
  for (const placement::FeatureSpec& each : specs) names.push_back(each.name);
  return names;
}

json hello_json(const EnvOptions& options) {
  return {{"protocol", kEnvProtocol},
          {"scenario", options.scenario.name},
          {"reward", placement::to_string(options.reward.preset)},
          {"nodes", options.scenario.nodes},
          {"feature_schema", placement::feature_schema_hash()},
          {"node_features", names_of(placement::kNodeFeatureSpecs)},
          {"pod_features", names_of(placement::kPodFeatureSpecs)},
          {"context_features", names_of(placement::kContextFeatureSpecs)}};
}

json observation_json(const models::Observation& observation) {
  json nodes = json::array();
  for (std::size_t i = 0; i < observation.nodes; ++i) {
    const auto first = observation.node.begin() + static_cast<std::ptrdiff_t>(i * models::kNodeFeatures);
    nodes.push_back(std::vector<float>(first, first + models::kNodeFeatures));
  }
  return {{"nodes", std::move(nodes)},
          {"pod", observation.pod},
          {"context", observation.context},
          {"prior", observation.prior},
          {"mask", observation.valid}};
}

json step_json(Env& env, const EnvStep& step) {
  json out = {{"done", step.done},
              {"reward", step.reward},
              {"settled", step.settled},
              {"turned_away", env.pending()},
              {"observation", nullptr}};
  if (!step.done) {
    out["observation"] = observation_json(step.observation);
    out["names"] = env.node_names();
    return out;
  }
  const WorldFigures truth = env.world().figures();
  out["figures"] = {
      {"energy_j", truth.energy_j},     {"time_s", env.world().now_s()},          {"awake_node_s", truth.awake_node_s},
      {"late_pod_s", truth.late_pod_s}, {"pressure_pod_s", truth.pressure_pod_s}, {"wakes", truth.wakes}};
  return out;
}

}  // namespace

// A client's text may be invalid UTF-8; it must not end the dialogue.
std::string error_line(const Error& error) { return error_json(error).dump(); }

std::string EnvServer::carry_out(const EnvRequest& request) {
  if (std::holds_alternative<HelloRequest>(request)) return hello_json(env_.options()).dump();
  if (const auto* reset = std::get_if<ResetRequest>(&request)) return step_json(env_, env_.reset(reset->seed)).dump();
  if (const auto* step = std::get_if<StepRequest>(&request)) {
    auto next = env_.step(step->action);
    return next ? step_json(env_, *next).dump() : error_line(next.error());
  }
  closed_ = true;
  return json({{"closed", true}}).dump();
}

std::string EnvServer::answer(std::string_view line) {
  const auto request = parse_env_request(line);
  if (!request) return error_line(request.error());
  return carry_out(*request);
}

}  // namespace wattle::sim
