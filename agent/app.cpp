#include "agent/app.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "agent/config.hpp"
#include "agent/render.hpp"
#include "agent/run.hpp"
#include "agent/sampler.hpp"
#include "agent/ticker.hpp"
#include "common/parse.hpp"
#include "common/version.hpp"

namespace wattle::agent {

namespace {
int complain(const Error& error) {
  std::cerr << "wattle-agent: " << error.message() << "\n";
  return 1;
}

Result<AgentConfig> config_of(const std::string& file, const std::string& root) {
  AgentConfig config;
  config.node = host_name();
  if (!file.empty()) {
    WATTLE_TRY(config, load_config(file));
  }
  if (!root.empty()) config.roots = Roots::below(root);
  return config;
}

int sample(const AgentConfig& config, std::uint64_t count, bool json) {
  const SystemClock clock;
  const Log log("wattle-agent", LogLevel::warn, LogFormat::automatic);
  raise_descriptor_limit();
  auto stop = stop_signals();
  if (!stop) return complain(stop.error());
  auto sampler = Sampler::open_(config, clock, 0);
  if (!sampler) return complain(sampler.error());
  auto ticker = Ticker::start(config.tick);
  if (!ticker) return complain(ticker.error());
  Prober prober(config.probes, clock, log);
  if (count == 1)
    prober.round();
  else
    prober.start();
  if (!json) std::fputs(csv_header().c_str(), stdout);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > 0 && !ticker->wait(stop->get())) break;
    sampler->tick();
    const Sample& taken = sampler->with_probes(prober.values());
    const std::string text = json ? sample_json(config.node, taken) + "\n" : sample_csv(config.node, taken);
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
      return complain({Errc::io, "stdout", "cannot be written", ""});
  }
  return 0;
}

int doctor(const AgentConfig& config, bool json) {
  const auto findings = examine(config.roots);
  std::cout << (json ? doctor_json(config.node, findings) + "\n" : doctor_text(findings));
  return healthy(findings) ? 0 : 1;
}
}  // namespace

int run_app(int argc, char** argv) {
  CLI::App app{"Wattle's agent: measures energy, use, pressure and latency on one node"};
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  std::string config_file, root, output = "json", doctor_output = "text", interval;
  std::uint64_t count = 1;
  bool check = false;

  auto* run = app.add_subcommand("run", "Sample at every tick and send the samples to the controller");
  run->add_option("--config", config_file, "Configuration (YAML)")->required();
  run->add_flag("--check-config", check, "Only tell whether the configuration is right");

  auto* sampling = app.add_subcommand("sample", "Print samples; no controller is needed");
  sampling->add_option("--count", count, "How many samples")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
  sampling->add_option("--interval", interval,
                       "Time between samples, 100ms to 60s; default 1s or the configuration's tick");
  sampling->add_option("--root", root, "Read DIR/proc and DIR/sys instead of this machine's");
  sampling->add_option("--config", config_file, "Configuration (YAML)");
  sampling->add_option("-o,--output", output, "json (one object a line) or csv")->check(CLI::IsMember({"json", "csv"}));

  auto* examining =
      app.add_subcommand("doctor", "Tell which sources this node gives, which not, and why; exit 1 if it cannot do");
  examining->add_option("--root", root, "Read DIR/proc and DIR/sys instead of this machine's");
  examining->add_option("--config", config_file, "Configuration (YAML)");
  examining->add_option("-o,--output", doctor_output, "text or json")->check(CLI::IsMember({"text", "json"}));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  auto config = config_of(config_file, root);
  if (!config) return complain(config.error());
  if (!interval.empty()) {
    const auto tick_s = parse::duration_s(interval);
    if (!tick_s || from_seconds(*tick_s) < kMinTick || from_seconds(*tick_s) > kMaxTick) {
      std::cerr << "wattle-agent: --interval: '" << interval << "' is not 100ms to 60s (as in 250ms, 1s, 1m)\n";
      return 2;
    }
    config->tick = from_seconds(*tick_s);
  }
  if (*sampling) return sample(*config, count, output == "json");
  if (*examining) return doctor(*config, doctor_output == "json");
  if (check) {
    std::cout << config_file << ": ok\n";
    return 0;
  }
  const SystemClock clock;
  const Log log("wattle-agent", config->log_level, config->log_format);
  if (auto ran = agent::run(*config, clock, log); !ran) return complain(ran.error());
  return 0;
}

}  // namespace wattle::agent
