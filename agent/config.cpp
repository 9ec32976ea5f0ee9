#include "agent/config.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "agent/collect/names.hpp"
#include "agent/collect/probe_http.hpp"
#include "common/cgroup_path.hpp"
#include "common/host_name.hpp"
#include "common/http/url.hpp"
#include "common/listeners.hpp"
#include "common/program_config.hpp"
#include "common/tcp_endpoint.hpp"
#include "common/transport/keys.hpp"

namespace wattle::agent {

namespace {
// Reads "tcp://HOST:PORT", "http://HOST[:PORT][/PATH]" or "icmp://HOST"; false: none of these.
bool read_target(std::string_view url, ProbeTarget& out) {
  constexpr std::array<std::string_view, 3> kSchemes{"tcp://", "http://", "icmp://"};
  const auto scheme = std::ranges::find_if(kSchemes, [&](std::string_view one) { return url.starts_with(one); });
  if (scheme == kSchemes.end()) return false;
  url.remove_prefix(scheme->size());
  const auto parsed = http::parse_url("http://" + std::string(url), "");
  if (!parsed) return false;
  out.kind = static_cast<ProbeKind>(scheme - kSchemes.begin());
  out.host = parsed->origin.host;
  out.port = out.kind == ProbeKind::icmp ? 0 : parsed->origin.port;
  out.path = parsed->target;
  if (out.kind == ProbeKind::http) return valid_http_path(out.path);
  const auto colon = url.rfind(':');
  const bool has_port = colon != std::string_view::npos && url.find(']', colon) == std::string_view::npos;
  return has_port == (out.kind == ProbeKind::tcp) && url.find_first_of("/?#") == std::string_view::npos;
}

ProbeTarget read_probe(config::Section& section) {
  ProbeTarget target;
  section.read("name", target.name, true);
  std::string url;
  section.read("url", url, true);
  if (!url.empty() && !read_target(url, target))
    section.mistake("url", "'" + url + "' is not a target",
                    "for example tcp://192.0.2.10:443, http://www.example/healthz or icmp://192.0.2.1");
  double interval_s = seconds(target.interval);
  section.read("interval", interval_s,
               {.min = seconds(kMinProbeInterval), .max = seconds(kMaxProbeInterval), .unit = config::Unit::seconds});
  target.interval = from_seconds(interval_s);
  target.timeout = std::min(target.timeout, target.interval);  // each probe ends before the next one starts
  return target;
}

void read_probes(config::Section& root, AgentConfig& out) {
  std::set<std::string> names;
  for (auto& section : root.sections("probes")) {
    ProbeTarget target = read_probe(section);
    if (!target.name.empty() && !names.insert(target.name).second)
      section.mistake("name", "'" + target.name + "' is a duplicate", "use a different name for each probe");
    out.probes.push_back(std::move(target));
  }
  if (out.probes.size() > kMaxProbeTargets)
    root.mistake("probes", "more than " + std::to_string(kMaxProbeTargets), "remove some");
}

void read_pcm(config::Section pcm, std::optional<PcmEndpoint>& out) {
  std::string endpoint;
  pcm.read("endpoint", endpoint);
  if (endpoint.empty()) return;
  out = parse_pcm_endpoint(endpoint);
  if (!out) pcm.mistake("endpoint", "'" + endpoint + "' is not an address", "for example http://127.0.0.1:9738");
}

void read_estimate(config::Section estimate, EstimateConfig& out) {
  double idle_w = -1, max_w = -1;  // unset
  const bool idle = estimate.has("idle_w"), max = estimate.has("max_w");
  estimate.read("idle_w", idle_w, {.min = 0, .max = 100'000});
  estimate.read("max_w", max_w, {.min = 0, .max = 100'000});
  estimate.read("curve", out.curve, {.min = 0, .max = 1});
  if (idle != max) estimate.mistake(idle ? "max_w" : "idle_w", "missing", "set both or neither");
  if (idle && max && max_w < idle_w) estimate.mistake("max_w", "less than idle_w", "max_w must be at least idle_w");
  if (out.curve.size() == 1)
    estimate.mistake("curve", "only one point", "use at least two points, for utilisations from 0 to 1");
  if (!out.curve.empty() && !idle) estimate.mistake("curve", "without idle_w and max_w", "set both");
  if (idle && max) {
    out.idle_w = idle_w;
    out.max_w = max_w;
  }
}

// Reads the enrolment section. The URL must use TLS because the token is sent to it, except on loopback.
void read_enrol(config::Section section, AgentConfig& out) {
  EnrolConfig& enrol = out.controller.enrol;
  section.read("url", enrol.url, true);
  section.read("token_file", enrol.token_file, true);
  section.read("ca_file", enrol.ca_file);
  out.controller.key_file = out.state_dir + "/agent.key";
  out.controller.server_key_file = out.state_dir + "/controller.pub";
  const std::string fix = "for example https://controller.example:7463";
  std::string_view rest = enrol.url;
  enrol.tls = !rest.starts_with("http://");
  if (enrol.tls && !rest.starts_with("https://")) return section.mistake("url", "is not an https:// address", fix);
  rest.remove_prefix(enrol.tls ? 8 : 7);
  const auto slash = rest.find('/');
  enrol.path = slash == std::string_view::npos ? "/api/v1/enrol" : std::string(rest.substr(slash));
  const auto endpoint = parse_pcm_endpoint("http://" + std::string(rest.substr(0, slash)));
  if (!endpoint || !valid_http_path(enrol.path)) return section.mistake("url", "has no host and port", fix);
  enrol.host = endpoint->host;
  enrol.port = endpoint->port;
  if (enrol.tls && enrol.ca_file.empty())
    section.mistake("ca_file", "is missing", "set it to the PEM file of the CA of the controller's certificate");
  if (!enrol.tls && !http::is_loopback(enrol.host))
    section.mistake("url", "the token would be sent unencrypted", fix + "; only a loopback address may use http://");
}

void read_bpf(config::Section& root, AgentConfig& out) {
  config::Section bpf = root.section("bpf");
  bpf.read("enabled", out.bpf.enabled);
  std::vector<std::string> networks;
  root.read("cluster_networks", networks);
  for (const auto& text : networks) {
    if (auto network = parse_network(text))
      out.cluster_networks.push_back(*network);
    else
      root.mistake("cluster_networks", network.error().subject + " " + network.error().what, network.error().fix);
  }
  if (networks.size() > kMaxNetworks)
    root.mistake("cluster_networks", "more than " + std::to_string(kMaxNetworks), "use larger networks");
}

LatencySource read_latency_source(config::Section& section) {
  LatencySource out;
  std::string url;
  section.read("workload", out.workload, true);
  section.read("url", url, true);
  const std::string fix = "for example http://127.0.0.1:9102/metrics";
  // Requires a loopback address: a service's page is on its own machine, and a name could later resolve elsewhere.
  const auto read = http::parse_url(url, fix);
  if (!read)
    section.mistake("url", read.error().what, fix);
  else if (read->origin.tls || !http::is_loopback(read->origin.host) ||
           !numeric_address(read->origin.host, read->origin.port) || !valid_http_path(read->target))
    section.mistake("url", "'" + url + "' is not a numeric http:// address of this machine", fix);
  if (read) {
    out.host = read->origin.host;
    out.port = read->origin.port;
    out.path = read->target;
  }
  section.read("histogram", out.histogram.name, true);
  if (!out.histogram.name.empty() && !valid_metric_name(out.histogram.name))
    section.mistake("histogram", "'" + out.histogram.name + "' is not the name of a metric",
                    "for example http_request_duration_seconds");
  if (out.histogram.name.ends_with("_bucket")) section.mistake("histogram", "ends in _bucket", "remove this suffix");
  section.read("labels", out.histogram.labels);
  if (out.histogram.labels.contains("le"))
    section.mistake("labels", "le is the bound of a bucket", "set the bound as target");
  section.read("target", out.histogram.target_s,
               {.min = 0.0001, .max = 3600, .unit = config::Unit::seconds, .required = true});
  return out;
}

void read_provisioning(config::Section section, AgentConfig& out) {
  section.read("socket", out.provisioning.socket);
  section.read("limits", out.provisioning.limits);
  section.read("protect", out.provisioning.protect);
  for (const std::string& name : out.provisioning.protect)
    if (std::ranges::find(out.provisioning.limits, name) != out.provisioning.limits.end())
      section.mistake("protect", "'" + name + "' is in limits too", "keep it in one of the two");
  section.read("pod_limits", out.provisioning.pod_limits);
  section.read("margins", out.provisioning.margins);
  std::set<std::string> workloads;
  for (auto& source : section.sections("latency")) {
    LatencySource latency = read_latency_source(source);
    if (!latency.workload.empty() && !workloads.insert(latency.workload).second)
      source.mistake("workload", "'" + latency.workload + "' is a duplicate", "use one page per workload");
    out.provisioning.latency.push_back(std::move(latency));
  }
  for (auto& source : section.sections("connections")) {
    AnswerTarget answers;
    source.read("workload", answers.workload, true);
    source.read("target", answers.target_s,
                {.min = 0.0001, .max = 3600, .unit = config::Unit::seconds, .required = true});
    if (!answers.workload.empty() && !workloads.insert(answers.workload).second)
      source.mistake("workload", "'" + answers.workload + "' is a duplicate",
                     "use one source of response times per workload");
    out.provisioning.connections.push_back(std::move(answers));
  }
  if (out.provisioning.connections.size() > kMaxAnswerTargets)
    section.mistake("connections", "more than " + std::to_string(kMaxAnswerTargets), "remove some");
  if (!out.provisioning.connections.empty() && !out.bpf.enabled)
    section.mistake("connections", "with bpf.enabled: false", "BPF programs measure connections: set it to true");
  if (out.provisioning.latency.size() > kMaxLatencySources)
    section.mistake("latency", "more than " + std::to_string(kMaxLatencySources), "remove some");
  if (out.provisioning.socket.empty()) return;
  if (out.provisioning.socket.size() > 107) section.mistake("socket", "longer than 107 bytes", "choose a shorter path");
  if (out.tick > kMaxProvisioningTick)
    section.mistake("socket", "with a tick above 5s", "use a shorter tick: an actuator waits 10 s for its orders");
}

void read_power(config::Section section, AgentConfig& out) {
  section.read("sleep", out.power.sleep);
  std::vector<std::string> names;
  for (const SleepDepth depth : out.power.depths) names.emplace_back(to_string(depth));
  section.read("depths", names);
  out.power.depths.clear();
  for (const std::string& name : names) {
    if (name == kShallow)
      out.power.shallow = true;
    else if (const auto depth = parse_sleep_depth(name))
      out.power.depths.push_back(*depth);
    else
      section.mistake("depths", "'" + name + "' is not a depth", "suspend, off or shallow");
  }
  if (names.empty()) section.mistake("depths", "is empty", "remove it, or set sleep: false");
  if (!out.power.shallow) return;
  if (!out.provisioning.latency.empty() || !out.provisioning.connections.empty())
    section.mistake("depths", "'shallow' slows CPUs of a node whose services have latency targets",
                    "remove it, or provisioning.latency and provisioning.connections");
  if (out.tick > kMaxShallowTick)
    section.mistake("depths", "'shallow' with a tick above 5s", "use a shorter tick: samples show that work has begun");
}

Result<AgentConfig> read(config::Document document) {
  AgentConfig out;
  config::Section root = document.root();
  root.read("node", out.node);
  if (!root.has("node")) out.node = own_node_name();
  double tick_s = seconds(out.tick);
  root.read("tick", tick_s, {.min = seconds(kMinTick), .max = seconds(kMaxTick), .unit = config::Unit::seconds});
  out.tick = from_seconds(tick_s);
  root.read("state_dir", out.state_dir);
  std::int64_t pods = 0;
  root.read("pod_capacity", pods, {.min = 0, .max = 100'000});
  out.pod_capacity = static_cast<std::uint64_t>(pods);
  root.read("labels", out.labels);
  root.read("nested", out.nested);
  root.read("pod_parents", out.pod_parents);
  for (auto& path : out.pod_parents) {
    const auto normal = normal_cgroup_path(path);
    if (!normal || *normal == "/" || !path.starts_with('/'))
      root.mistake("pod_parents", "'" + path + "' is not a cgroup path", "for example /jobs, without '..'");
    else
      path = *normal;
  }

  config::Section controller = root.section("controller");
  controller.read("endpoint", out.controller.endpoint);
  if (!out.controller.endpoint.empty() && !can_connect_to(out.controller.endpoint))
    controller.mistake("endpoint", "'" + out.controller.endpoint + "' is not an endpoint",
                       "use tcp://HOST:PORT, for example tcp://controller:7460");
  const bool enrols = controller.has("enrol");
  if (enrols) read_enrol(controller.section("enrol"), out);
  controller.read("server_key", out.controller.server_key_file, !out.controller.endpoint.empty() && !enrols);
  controller.read("key", out.controller.key_file, !out.controller.endpoint.empty() && !enrols);

  config::Section spool = root.section("spool");
  auto spool_bytes = static_cast<std::int64_t>(out.spool_max_bytes);
  spool.read("max_bytes", spool_bytes, {.min = 0, .max = 1e12});
  if (spool_bytes > 0 && spool_bytes < kMinSpoolBytes)
    spool.mistake("max_bytes", "less than " + std::to_string(kMinSpoolBytes), "use a larger value, or 0 for no spool");
  out.spool_max_bytes = static_cast<std::uint64_t>(spool_bytes);

  config::Section web = root.section("http");
  web.read("address", out.http_address);
  int http_port = -1;
  web.read("port", http_port, {.min = 0, .max = 65535});
  if (http_port >= 0) out.http_port = static_cast<std::uint16_t>(http_port);
  http::read_access(web, out.http_port ? out.http_address : "127.0.0.1", http::Callers::with_token, out.http_access);

  Listeners listeners;
  if (out.http_port) listeners.add_http(web, "http.port", out.http_address, *out.http_port);

  config::Section echo = root.section("echo");
  echo.read("address", out.echo.address);
  int echo_port = -1;
  echo.read("port", echo_port, {.min = 0, .max = 65535});
  if (echo_port >= 0) {
    out.echo.port = static_cast<std::uint16_t>(echo_port);
    listeners.add_http(echo, "echo.port", out.echo.address, *out.echo.port);
  } else if (echo.has("address") && !echo.has("port")) {
    echo.mistake("port", "missing", "an echo address needs an echo port");
  }

  std::string host = "/";
  root.read("root", host);
  out.roots = Roots::mounted(host);
  read_probes(root, out);
  read_estimate(root.section("estimate"), out.estimate);
  read_pcm(root.section("pcm"), out.pcm);
  read_bpf(root, out);
  read_provisioning(root.section("provisioning"), out);
  read_power(root.section("power"), out);

  config::read_log_level(root, out.log_level);

  if (out.node.empty())
    root.mistake("node", "empty", "set the name of the node");
  else if (const Status named = check_node_name(out.node); !named)
    root.mistake("node", "'" + out.node + "' " + named.error().what, named.error().fix);
  WATTLE_CHECK(document.finish());
  return out;
}
}  // namespace

Status check_node_name(const std::string& name) {
  if (transport::Identity::from_user_id("agent/" + name)) return {};
  return fail(Errc::malformed, name, "is not the name of a node", "use at most 253 letters, digits, '.', '-' and '_'");
}

std::string own_node_name() {
  const std::string name = host_name();
  return name.empty() ? "localhost" : name;
}

Result<AgentConfig> load_config(const std::string& path) {
  return config::read_with(read, config::Document::load(path));
}

Result<AgentConfig> parse_config(const std::string& text, const std::string& name) {
  return config::read_with(read, config::Document::parse(text, name));
}

std::vector<config::Key> config_keys() {
  return config::keys_of(read,
                         "{controller: {enrol: {}}, probes: [{}], provisioning: {latency: [{}], connections: [{}]}}");
}

}  // namespace wattle::agent
