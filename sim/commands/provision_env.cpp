#include <CLI/CLI.hpp>

#include "common/json/value.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/env_commands.hpp"
#include "sim/commands/env_lines.hpp"
#include "sim/commands/options.hpp"
#include "sim/commands/provision_arguments.hpp"
#include "sim/env/env_protocol.hpp"
#include "sim/provision/limit_env.hpp"

namespace wattle::sim::commands {

namespace {

using json = SortedJson;
using provision::LimitEnv;
using provision::LimitStep;

class LimitEnvServer {
 public:
  explicit LimitEnvServer(provision::LimitEnvOptions options) : env_(std::move(options)) {}
  bool closed() const { return closed_; }

  std::string answer(std::string_view line) {
    const auto request = parse_env_request(line);
    if (!request) return error_line(request.error());
    if (std::holds_alternative<HelloRequest>(*request)) return hello().dump();
    if (const auto* reset = std::get_if<ResetRequest>(&*request)) return reported(env_.reset(reset->seed)).dump();
    if (const auto* step = std::get_if<StepRequest>(&*request)) {
      const auto next = env_.step(step->action);
      return next ? reported(*next).dump() : error_line(next.error());
    }
    closed_ = true;
    return json({{"closed", true}}).dump();
  }

 private:
  json hello() const {
    json levels = json::array(), traces = json::array();
    for (std::uint64_t level = 0; level < provision::kLevels; ++level) levels.push_back(env_.level_cores(level));
    for (const auto& trace : env_.options().traces) traces.push_back(trace->name);
    return {{"protocol", kEnvProtocol},
            {"environment", "provision"},
            {"services", env_.options().world.services},
            {"level_cores", std::move(levels)},
            {"target_s", env_.options().world.target_s},
            {"traces", std::move(traces)},
            {"service_features", {"used_cores", "throttled_ratio", "limit_cores"}},
            {"minute_features",
             {"over_ratio", "p99_over_target", "rate_rps", "expected_rps", "expected_low_rps", "expected_high_rps"}}};
  }

  json reported(const LimitStep& step) const {
    json out = {{"done", step.done}, {"reward", step.reward}, {"time_s", step.now_s}, {"observation", nullptr}};
    if (!step.done) {
      json services = json::array();
      for (const auto& service : step.services)
        services.push_back({service.used_cores, service.throttled_ratio, service.limit_cores});
      out["observation"] = {{"services", std::move(services)},
                            {"minute",
                             {step.over_ratio, step.p99_s / env_.options().world.target_s, step.rate_rps,
                              step.expected.rate_rps, step.expected.low_rps, step.expected.high_rps}}};
      return out;
    }
    const provision::Figures truth = env_.figures();
    out["figures"] = {{"granted_cores", truth.granted_cores},
                      {"used_cores", truth.used_cores},
                      {"minutes", truth.minutes},
                      {"minutes_over", truth.minutes_over},
                      {"requests", truth.requests},
                      {"requests_over", truth.requests_over},
                      {"writes_per_minute", truth.writes_per_minute}};
    return out;
  }

  LimitEnv env_;
  bool closed_ = false;
};

Status run(const ProvisionWorldArguments& arguments, double over_price) {
  WATTLE_TRY(auto traces, provision_traces(arguments));
  provision::LimitEnvOptions options;
  for (RateTrace& trace : traces) options.traces.push_back(std::make_shared<const RateTrace>(std::move(trace)));
  options.world = provision_world(arguments);
  options.over_price = over_price;
  LimitEnvServer server(std::move(options));
  return answer_lines(server);
}

}  // namespace

int provision_env(int argc, char** argv) {
  ProvisionWorldArguments arguments;
  double over_price = provision::LimitEnvOptions{}.over_price;
  CLI::App app{
      "An environment for setting the CPU limits of services: JSON lines on standard input and output "
      "(lab/docs/provisioning-commands.md)",
      "wattle-sim provision-env"};
  add_provision_options(app, arguments);
  add_checked(app, "--over-price", over_price, "cost of a minute over target, in seconds with all cores granted",
              CLI::Range(0.0, 1e6));
  return run_command(app, argc, argv, [&] { return run(arguments, over_price); });
}

}  // namespace wattle::sim::commands
