#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <string>

#include "common/json/value.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/commands.hpp"
#include "sim/env/env_protocol.hpp"
#include "sim/provision/limit_env.hpp"

namespace wattle::sim::commands {

namespace {

using json = SortedJson;
using provision::LimitEnv;
using provision::LimitStep;

// Reads the next line, at most one byte longer than a request may be, and skips the rest of a longer one. Returns false
// at the end.
bool read_request_line(std::string& line) {
  line.clear();
  int c = 0;
  while ((c = std::getchar()) != EOF && c != '\n')
    if (line.size() <= kMaxRequestBytes) line += static_cast<char>(c);
  return c != EOF || !line.empty();
}

// Answers until the client closes or the input ends. A blank line gets no answer.
Status answer_lines(EnvDialogue& server) {
  std::string line;
  while (!server.closed() && read_request_line(line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string answer = server.answer(line) + "\n";
    if (std::fwrite(answer.data(), 1, answer.size(), stdout) != answer.size() || std::fflush(stdout) != 0)
      return fail_errno(errno, "standard output");
  }
  return {};
}

class LimitEnvServer final : public EnvDialogue {
 public:
  explicit LimitEnvServer(provision::LimitEnvOptions options) : env_(std::move(options)) {}

 private:
  std::string hello() override {
    json levels = json::array(), traces = json::array();
    for (std::uint64_t level = 0; level < provision::kLevels; ++level) levels.push_back(env_.level_cores(level));
    for (const auto& trace : env_.options().traces) traces.push_back(trace->name);
    return json{
        {"protocol", kEnvProtocol},
        {"environment", "provision"},
        {"services", env_.options().world.services},
        {"level_cores", std::move(levels)},
        {"target_s", env_.options().world.target_s},
        {"traces", std::move(traces)},
        {"service_features", {"used_cores", "throttled_ratio", "limit_cores"}},
        {"minute_features",
         {"over_ratio", "p99_over_target", "rate_rps", "expected_rps", "expected_low_rps", "expected_high_rps"}}}
        .dump();
  }
  std::string reset(std::uint64_t seed) override { return reported(env_.reset(seed)).dump(); }
  Result<std::string> step(std::uint64_t action) override {
    WATTLE_TRY(const LimitStep next, env_.step(action));
    return reported(next).dump();
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

Status run(const WorldArguments& arguments) {
  WATTLE_TRY(EnvOptions options, env_options(arguments));
  EnvServer server(std::move(options));
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

int env(int argc, char** argv) {
  WorldArguments arguments;
  CLI::App app{
      "An environment for external training: JSON lines on standard input and output "
      "(docs/reference/simulator.md)",
      "wattle-sim env"};
  add_world_options(app, arguments);
  return run_command(app, argc, argv, [&] { return run(arguments); });
}

}  // namespace wattle::sim::commands
