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

std::string EnvDialogue::answer(std::string_view line) {
  const auto request = parse_env_request(line);
  if (!request) return error_line(request.error());
  if (std::holds_alternative<HelloRequest>(*request)) return hello();
  if (const auto* again = std::get_if<ResetRequest>(&*request)) return reset(again->seed);
  if (const auto* chosen = std::get_if<StepRequest>(&*request)) {
    auto next = step(chosen->action);
    return next ? std::move(*next) : error_line(next.error());
  }
  closed_ = true;
  return json({{"closed", true}}).dump();
}

std::string EnvServer::hello() { return hello_json(env_.options()).dump(); }
std::string EnvServer::reset(std::uint64_t seed) { return step_json(env_, env_.reset(seed)).dump(); }
Result<std::string> EnvServer::step(std::uint64_t action) {
  WATTLE_TRY(const EnvStep next, env_.step(action));
  return step_json(env_, next).dump();
}

}  // namespace wattle::sim
