#include "agent/config.hpp"

#include <unistd.h>

#include <array>
#include <set>

#include "common/config.hpp"

namespace wattle::agent {

namespace {
void read_probes(config::Section& root, AgentConfig& out) {
  std::set<std::string> names;
  for (auto& section : root.sections("probes")) {
    ProbeTarget target;
    section.read("name", target.name, true);
    section.read("host", target.host, true);
    int port = 0;
    section.read("port", port, {.min = 1, .max = 65535, .required = true});
    target.port = static_cast<std::uint16_t>(port);
    if (!target.name.empty() && !names.insert(target.name).second)
      section.mistake("name", "'" + target.name + "' is there twice", "give each probe its own name");
    out.probes.push_back(std::move(target));
  }
  if (out.probes.size() > kMaxProbeTargets)
    root.mistake("probes", "more than " + std::to_string(kMaxProbeTargets), "remove some");
}

void read_estimate(config::Section estimate, EstimateConfig& out) {
  double idle_w = 0, max_w = 0;
  const bool idle = estimate.has("idle_w"), max = estimate.has("max_w");
  estimate.read("idle_w", idle_w, {.min = 0, .max = 100'000});
  estimate.read("max_w", max_w, {.min = 0, .max = 100'000});
  estimate.read("curve", out.curve, {.min = 0, .max = 1});
  if (idle != max) estimate.mistake(idle ? "max_w" : "idle_w", "missing", "set both, or neither");
  if (idle && max && max_w < idle_w) estimate.mistake("max_w", "less than idle_w", "a full machine draws more");
  if (out.curve.size() == 1) estimate.mistake("curve", "one point", "give at least two, for utilisations from 0 to 1");
  if (!out.curve.empty() && !idle) estimate.mistake("curve", "without idle_w and max_w", "set both");
  if (idle && max) {
    out.idle_w = idle_w;
    out.max_w = max_w;
  }
}

Result<AgentConfig> read(config::Document document) {
  AgentConfig out;
  out.node = host_name();
  config::Section root = document.root();
  root.read("node", out.node);
  double tick_s = seconds(out.tick);
  root.read("tick", tick_s, {.min = seconds(kMinTick), .max = seconds(kMaxTick), .unit = config::Unit::seconds});
  out.tick = from_seconds(tick_s);
  root.read("state_dir", out.state_dir);
  std::int64_t records = static_cast<std::int64_t>(out.outbox_records), pods = 0;
  root.read("outbox_records", records, {.min = 1, .max = 1'000'000});
  root.read("pod_capacity", pods, {.min = 0, .max = 100'000});
  out.outbox_records = static_cast<std::size_t>(records);
  out.pod_capacity = static_cast<std::uint64_t>(pods);
  root.read("labels", out.labels);
  root.read("pod_parents", out.pod_parents);
  for (const auto& path : out.pod_parents)
    if (!path.starts_with('/') || path.ends_with('/'))
      root.mistake("pod_parents", "'" + path + "' is no cgroup path", "as in /jobs");

  config::Section controller = root.section("controller");
  controller.read("endpoint", out.controller.endpoint);
  controller.read("server_key", out.controller.server_key_file, !out.controller.endpoint.empty());
  controller.read("key", out.controller.key_file, !out.controller.endpoint.empty());

  config::Section http = root.section("http");
  http.read("address", out.http_address);
  if (http.has("port")) {
    int port = 0;
    http.read("port", port, {.min = 0, .max = 65535});
    out.http_port = static_cast<std::uint16_t>(port);
  }

  config::Section roots = root.section("roots");
  roots.read("proc", out.roots.proc);
  roots.read("sys", out.roots.sys);
  read_probes(root, out);
  read_estimate(root.section("estimate"), out.estimate);

  config::Section log = root.section("log");
  static const std::vector<std::string_view> kLevels{"debug", "info", "warn", "error", "off"};
  static const std::vector<std::string_view> kFormats{"auto", "text", "json"};
  std::size_t level = 1, format = 0;
  log.read_choice("level", level, kLevels);
  log.read_choice("format", format, kFormats);
  out.log_level = static_cast<LogLevel>(level);
  out.log_format = static_cast<LogFormat>(format);

  if (out.node.empty()) root.mistake("node", "empty", "give the node's name");
  WATTLE_CHECK(document.finish());
  return out;
}
}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

Result<AgentConfig> load_config(const std::string& path) {
  WATTLE_TRY(auto document, config::Document::load(path));
  return read(std::move(document));
}

Result<AgentConfig> parse_config(const std::string& text, const std::string& name) {
  WATTLE_TRY(auto document, config::Document::parse(text, name));
  return read(std::move(document));
}

}  // namespace wattle::agent
