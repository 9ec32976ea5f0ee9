#include "agent/app.hpp"

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "agent/accept_run.hpp"
#include "agent/collect/probe.hpp"
#include "agent/config.hpp"
#include "agent/recorder.hpp"
#include "agent/render.hpp"
#include "agent/run.hpp"
#include "common/cmdline/parse.hpp"
#include "common/error_line.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"
#include "common/private_memory.hpp"
#include "common/version.hpp"

namespace wattle::agent {

namespace {
int complain(const Error& error, int code = 1) {
  std::cerr << error_line("wattle-agent", "", error) << "\n";
  return code;
}

Result<AgentConfig> config_of(const std::string& file, const std::string& root) {
  AgentConfig config;
  config.node = own_node_name();
  if (!file.empty()) {
    WATTLE_TRY(config, load_config(file));
  }
  if (!root.empty()) config.roots = Roots::below(root);
  return config;
}

int sample(const AgentConfig& config, const RecorderOptions& options) {
  const SystemClock clock;
  const Log log("wattle-agent", LogLevel::warn, LogFormat::automatic);
  if (auto done = record_samples(config, options, clock, log); !done) return complain(done.error());
  return 0;
}

// All threads use one heap, and a large block, such as a page of metrics, returns to the system once it is free.
void keep_heap_small() {
  constexpr int kLarge_bytes = 128 << 10;
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, kLarge_bytes);  // otherwise it grows with the first page
}

int doctor(const AgentConfig& config, bool json) {
  const auto findings = examine(config);
  std::cout << (json ? doctor_json(config.node, findings) + "\n" : printable_lines(doctor_text(findings)));
  return healthy(findings) ? 0 : 1;
}
}  // namespace

int run_app(int argc, char** argv) {
  CLI::App app{"Wattle's agent: measures energy, use, pressure and latency on one node", "wattle-agent"};
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  std::string config_file, node, root, output = "json", doctor_output = "text", accept_output = "text", interval;
  RecorderOptions recorder;
  bool check = false;

  auto* run = app.add_subcommand("run", "Sample this node and send the samples to the controller");
  run->add_option("--config", config_file, "Configuration (YAML)")->type_name("FILE")->required();
  run->add_option("--node", node, "Name of this node; overrides the configuration");
  run->add_flag("--check-config", check, "Check the configuration and exit");

  auto* sampling = app.add_subcommand("sample", "Print samples; needs no controller");
  sampling->add_option("--count", recorder.count, "Number of samples")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
  sampling->add_option("--interval", interval,
                       "Time between samples, 100ms to 60s (default: tick of the configuration, else 1s)");
  sampling->add_option("--root", root, "Read DIR/proc and DIR/sys instead of this machine's")->type_name("DIR");
  sampling->add_option("--config", config_file, "Configuration (YAML)")->type_name("FILE");
  sampling->add_option("--output-file", recorder.file, "Write to this file instead of stdout, and overwrite it")
      ->type_name("FILE");
  auto* pod = sampling->add_option("--pod", recorder.filter.pod, "Print only the workload of the pod with this UID");
  sampling->add_option("--workload", recorder.filter.name, "Print only workloads of this name")->excludes(pod);
  sampling->add_option("-o,--output", output, "Output format: json (one object per line) or csv")
      ->check(CLI::IsMember({"json", "csv"}));

  auto* examining = app.add_subcommand(
      "doctor", "Report available and missing sources with the reason; exit 1 if the agent cannot run");
  examining->add_option("--root", root, "Read DIR/proc and DIR/sys instead of this machine's")->type_name("DIR");
  examining->add_option("--config", config_file, "Configuration (YAML)")->type_name("FILE");
  examining->add_option("-o,--output", doctor_output, "Output format: text or json")
      ->check(CLI::IsMember({"text", "json"}));

  AcceptOptions accept;
  std::string phase;
  auto* accepting = app.add_subcommand(
      "accept", "Check this machine's counters with known loads, in ten minutes; exit 1 if one is wrong");
  accepting->add_option("--phase", phase, "Duration of each of the five phases, 2s to 60m (default 2m)");
  accepting->add_option("--report", accept.report, "Also write the report as JSON to this file")->type_name("FILE");
  accepting->add_option("--root", root, "Read DIR/proc and DIR/sys instead of this machine's, without loads")
      ->type_name("DIR");
  accepting->add_option("--config", config_file, "Configuration (YAML)")->type_name("FILE");
  accepting->add_option("-o,--output", accept_output, "Output format: text or json")
      ->check(CLI::IsMember({"text", "json"}));

  if (const auto code = cmdline::parse(app, argc, argv)) return *code;

  auto config = config_of(config_file, root);
  if (!config) return complain(config.error(), cmdline::kMisused);
  if (!node.empty()) {
    if (const Status named = check_node_name(node); !named) {
      complain({Errc::malformed, "--node", "'" + node + "' " + named.error().what, named.error().fix});
      return cmdline::kMisused;
    }
    config->node = node;
  }
  if (!interval.empty()) {
    const auto tick_s = parse::duration_s(interval);
    if (!tick_s || from_seconds(*tick_s) < kMinTick || from_seconds(*tick_s) > kMaxTick) {
      complain({Errc::malformed, "--interval", "'" + interval + "' is not a duration from 100ms to 60s",
                "for example 250ms, 1s or 1m"});
      return 2;
    }
    config->tick = from_seconds(*tick_s);
  }
  recorder.json = output == "json";
  if (*sampling) return sample(*config, recorder);
  if (*examining) return doctor(*config, doctor_output == "json");
  if (*accepting) {
    const auto phase_s = phase.empty() ? 120.0 : parse::duration_s(phase).value_or(0);
    if (phase_s < 2 || phase_s > 3600) {
      complain(
          {Errc::malformed, "--phase", "'" + phase + "' is not a duration from 2s to 60m", "for example 10s or 2m"});
      return 2;
    }
    accept.phase = from_seconds(phase_s);
    accept.json = accept_output == "json";
    const SystemClock clock;
    const auto accepted = run_accept(*config, accept, clock);
    return !accepted ? complain(accepted.error()) : *accepted ? 0 : 1;
  }
  if (check) {
    std::cout << config_file << ": ok\n";
    return 0;
  }
  keep_memory_private();
  keep_heap_small();
  const SystemClock clock;
  const Log log("wattle-agent", config->log_level, LogFormat::automatic);
  if (auto ran = agent::run(*config, clock, log); !ran) return complain(ran.error());
  return 0;
}

}  // namespace wattle::agent
