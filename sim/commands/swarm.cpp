#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/clock.hpp"
#include "common/cmdline/parse.hpp"
#include "common/descriptor_limit.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"
#include "common/stop_signal.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/typed.hpp"
#include "sim/live/swarm.hpp"

namespace wattle::sim::commands {

using namespace live;

namespace {

constexpr std::chrono::milliseconds kRound{50};  // sessions need ten rounds a second
constexpr double kTellEvery_s = 10;

void report_of(const Log& log, const Swarm& swarm) {
  const SwarmStatus status = swarm.status();
  const AckDelays delays = swarm.ack_delays(from_seconds(kTellEvery_s));
  log.info("swarm.status", "the swarm is running",
           {{"nodes", status.nodes},
            {"welcomed", status.welcomed},
            {"pods", status.pods},
            {"samples", status.samples},
            {"placements", status.placements},
            {"records_dropped", status.dropped},
            {"ack_p50_ms", delays.p50_s * 1e3},
            {"ack_p99_ms", delays.p99_s * 1e3},
            {"problem", status.problem}});
}

int run(const SwarmOptions& options, const Clock& clock, const Log& log) {
  auto stop = StopSignal::open_();  // before the HTTP threads, so that they inherit the mask
  if (!stop) return failed("swarm", stop.error());
  raise_descriptor_limit();
  auto swarm = Swarm::start(options, clock, log);
  if (!swarm) return failed("swarm", swarm.error());
  std::printf("swarm: %zu simulated nodes, http://%s:%u\n", options.nodes, options.listen_address.c_str(),
              static_cast<unsigned>((*swarm)->port()));
  std::fflush(stdout);
  MonoTime next = clock.mono() + from_seconds(1);
  std::size_t welcomed = 0;
  while (!stop->pending()) {
    (*swarm)->pump(kRound, stop->fd());
    const SwarmStatus status = (*swarm)->status();
    if (clock.mono() >= next || status.welcomed != welcomed) {
      if (clock.mono() >= next) next = clock.mono() + from_seconds(kTellEvery_s);
      welcomed = status.welcomed;
      report_of(log, **swarm);
    }
  }
  report_of(log, **swarm);
  return 0;
}

int misused(const Error& error) {
  failed("swarm", error);
  return cmdline::kMisused;
}

}  // namespace

int swarm(int argc, char** argv) {
  CLI::App app(
      "Simulates N nodes in one process: each uses the agents' wire protocol with its own key and runs the pods that "
      "it gets",
      "wattle-sim swarm");
  SwarmOptions options;
  std::string config, listen, part, make_keys, level = "info", api, api_token, api_ca;
  bool check = false;
  app.add_option("--config", config, "YAML file; options of the command line override it")->check(CLI::ExistingFile);
  auto* const nodes =
      app.add_option("--nodes", options.nodes, "number of simulated nodes")->check(CLI::Range(1, 10'000));
  auto* const endpoint = app.add_option("--endpoint", options.endpoint, "the controller's telemetry endpoint");
  auto* const keys = app.add_option("--keys", options.keys_dir, "directory with NODE.key of each node");
  auto* const server_key = app.add_option("--server-key", options.server_key, "file with the controller's public key");
  app.add_option("--listen", listen, "ADDRESS:PORT for HTTP (default 127.0.0.1:0, which picks a port)");
  auto* const seed = app.add_option("--seed", options.fleet.seed, "seed of fleet, loads, latencies and noise");
  auto* const services = app.add_option("--services", options.fleet.services_per_node,
                                        "number of services of each node, listed individually");
  app.add_option("--part", part, "I/N: simulate only the I-th of N equal shares of the nodes, from 1 (default 1/1)");
  add_checked(app, "--outbox", options.outbox_records, "records that each node keeps while the controller is down",
              CLI::Range(1, 100'000));
  app.add_option("--kube", api, "URL of a Kubernetes API server whose bindings the nodes follow");
  app.add_option("--kube-token", api_token, "file with the bearer token");
  app.add_option("--kube-ca", api_ca, "PEM file with the CA of the server's certificate");
  app.add_option("--make-keys", make_keys, "create missing keys, append allow-list lines to this file, and exit");
  app.add_option("--log-level", level, "debug, info, warn, error or off");
  app.add_flag("--check-config", check, "check the configuration and exit");
  if (const auto code = parse(app, argc, argv)) return *code;
  const auto parsed_level = parse_log_level(level);
  if (!parsed_level) {
    std::fprintf(stderr, "wattle-sim: swarm: --log-level: %s\n", parsed_level.error().message().c_str());
    return 2;
  }
  if (!config.empty()) {
    const SwarmOptions given = options;
    if (const Status loaded = load_swarm_config(config, options); !loaded) return misused(loaded.error());
    if (*nodes) options.nodes = given.nodes;
    if (*endpoint) options.endpoint = given.endpoint;
    if (*keys) options.keys_dir = given.keys_dir;
    if (*server_key) options.server_key = given.server_key;
    if (*seed) options.fleet.seed = given.fleet.seed;
    if (*services) options.fleet.services_per_node = given.fleet.services_per_node;
  }
  if (!listen.empty())
    if (const Status parsed = parse_listen(listen, options); !parsed) return misused(parsed.error());
  if (!api.empty()) {
    auto origin = kube::parse_url(api);
    if (!origin) return failed("swarm", origin.error());
    if (origin->tls) origin->tls->ca_file = api_ca;
    options.kube = kube::ApiServer{std::move(*origin), api_token};
  }
  if (!part.empty())
    if (const Status parsed = parse_part(part, options); !parsed) return misused(parsed.error());
  if (options.keys_dir.empty() || (options.server_key.empty() && make_keys.empty())) {
    std::fprintf(stderr,
                 "wattle-sim: swarm: --keys and --server-key are needed (or keys and server_key in --config)\n");
    return 2;
  }
  if (check) {
    std::printf("configuration is fine: %zu nodes to %s\n", options.nodes, options.endpoint.c_str());
    return 0;
  }
  if (!make_keys.empty()) {
    const auto lines = make_swarm_keys(options);
    if (!lines) return failed("swarm", lines.error());
    std::FILE* const file = std::fopen(make_keys.c_str(), "ae");
    if (file == nullptr || std::fputs(lines->c_str(), file) < 0 || std::fclose(file) != 0)
      return failed("swarm", {Errc::io, make_keys, "cannot be written", "use a writable file"});
    return 0;
  }
  const SystemClock clock;
  const Log log("wattle-sim swarm", *parsed_level, LogFormat::automatic);
  return run(options, clock, log);
}

}  // namespace wattle::sim::commands
