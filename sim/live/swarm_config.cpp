#include "sim/live/swarm_config.hpp"

#include <utility>

#include "common/config.hpp"
#include "common/parse.hpp"

namespace wattle::sim::live {

Status parse_listen(const std::string& text, SwarmOptions& options) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse::integer<std::uint16_t>(text.substr(colon + 1));
  if (!port || colon == 0)
    return fail(Errc::malformed, text, "is not an address and port", "write it as 127.0.0.1:8060");
  options.listen_address = text.substr(0, colon);
  options.listen_port = *port;
  return {};
}

Status parse_part(const std::string& text, SwarmOptions& options) {
  const auto slash = text.find('/');
  const auto part = parse::integer<std::size_t>(text.substr(0, slash));
  const auto parts = slash == std::string::npos ? std::nullopt : parse::integer<std::size_t>(text.substr(slash + 1));
  if (!part || !parts || *part == 0 || *part > *parts)
    return fail(Errc::malformed, text, "is not a share", "write 1/3, 2/3 and 3/3 for three processes");
  options.part = *part;
  options.parts = *parts;
  return {};
}

Status load_swarm_config(const std::string& path, SwarmOptions& options) {
  WATTLE_TRY(auto document, config::Document::load(path));
  config::Section root = document.root();
  std::int64_t nodes = static_cast<std::int64_t>(options.nodes);
  std::int64_t seed = static_cast<std::int64_t>(options.fleet.seed);
  std::int64_t window = static_cast<std::int64_t>(options.fleet.probe_window);
  std::int64_t services = static_cast<std::int64_t>(options.fleet.services_per_node);
  kube::ApiServer api;
  std::string api_url, api_ca;
  std::int64_t pods = static_cast<std::int64_t>(options.fleet.pods_per_node);
  std::string listen;
  root.read("nodes", nodes, {.min = 1, .max = 10'000});
  root.read("endpoint", options.endpoint);
  root.read("keys", options.keys_dir);
  root.read("server_key", options.server_key);
  root.read("listen", listen);
  root.read("seed", seed, {.min = 0});
  root.read("tick", options.tick_s, {.min = 0.1, .max = 60, .unit = config::Unit::seconds});
  root.read("pods_per_node", pods, {.min = 1, .max = 1000});
  root.read("sleep_speedup", options.fleet.sleep_speedup, {.min = 0, .max = 1000});
  root.read("services_per_node", services, {.min = 0, .max = 1000});
  config::Section cluster = root.section("kubernetes");
  cluster.read("server", api_url);
  cluster.read("ca", api_ca);
  cluster.read("token", api.token_file);
  config::Section latency = root.section("latency");
  latency.read("low_ms", options.fleet.latency_low_ms, {.min = 0, .max = 10'000});
  latency.read("high_ms", options.fleet.latency_high_ms, {.min = 0, .max = 10'000});
  latency.read("probe_window", window, {.min = 1, .max = 600});
  latency.read("rotate_every", options.fleet.rotate_every_s, {.min = 0, .unit = config::Unit::seconds});
  for (config::Section section : latency.sections("shifts")) {
    LatencyShift shift;
    section.read("at", shift.at_s, {.min = 0, .unit = config::Unit::seconds, .required = true});
    section.read("node", shift.node, true);
    section.read("latency_ms", shift.latency_ms, {.min = 0, .max = 10'000, .required = true});
    options.fleet.shifts.push_back(std::move(shift));
  }
  if (options.fleet.latency_low_ms > options.fleet.latency_high_ms)
    latency.mistake("high_ms", "is below low_ms", "use the larger value");
  if (!listen.empty())
    if (const Status parsed = parse_listen(listen, options); !parsed)
      root.mistake("listen", parsed.error().what, parsed.error().fix);
  if (!api_url.empty()) {
    auto origin = kube::parse_url(api_url);
    if (!origin) {
      cluster.mistake("server", "'" + api_url + "' " + origin.error().what, origin.error().fix);
    } else {
      if (origin->tls) origin->tls->ca_file = api_ca;
      api.origin = std::move(*origin);
      options.kube = std::move(api);
    }
  }
  options.nodes = static_cast<std::size_t>(nodes);
  options.fleet.seed = static_cast<std::uint64_t>(seed);
  options.fleet.probe_window = static_cast<std::size_t>(window);
  options.fleet.pods_per_node = static_cast<std::size_t>(pods);
  options.fleet.services_per_node = static_cast<std::size_t>(services);
  return document.finish();
}

}  // namespace wattle::sim::live
