// config: what an agent is told by its configuration file.
// Source   a strict YAML file (docs/reference/configuration.md has every key); every key has a default but the controller's
// Errors   malformed, all mistakes at once, each with file, line, key and mend
// Threads  values
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/bpf/answer_times.hpp"
#include "agent/bpf/networks.hpp"
#include "agent/collect/estimate.hpp"
#include "agent/collect/pcm_answer.hpp"
#include "agent/collect/probe_window.hpp"
#include "agent/echo.hpp"
#include "agent/latency.hpp"
#include "agent/roots.hpp"
#include "common/actuation.hpp"
#include "common/clock.hpp"
#include "common/config.hpp"
#include "common/http/access.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::agent {

// Where the agent has its key allowed.
struct EnrolConfig {
  std::string url;  // "https://controller:7463"; empty: keys are allowed by hand
  std::string token_file, ca_file;
  std::string host, path;  // of the URL
  std::uint16_t port = 0;
  bool tls = true;
};

struct ControllerConfig {
  std::string endpoint;         // "tcp://controller:7460"; empty: no controller
  std::string server_key_file;  // the controller's public key
  std::string key_file;         // this agent's key pair
  EnrolConfig enrol;            // with it both files may be missing and are then made, below state_dir if not named
};

struct EstimateConfig {
  std::optional<double> idle_w, max_w;
  std::vector<double> curve;  // share of (max - idle) at evenly spaced utilisations
};

// What wattle-actuator is told.
struct ProvisioningConfig {
  std::string socket;  // empty: there is none
  actuation::Level level = actuation::Level::suggest;
  std::vector<std::string> limits;             // names of services and VMs
  std::vector<LatencySource> latency = {};     // at most one a workload
  std::vector<AnswerTarget> connections = {};  // whose latency the kernel is asked for; at most one a workload
  bool margins = false;                        // the controller may move them by rungs
  bool pod_limits = false;                     // annotated pods may be at level `limits`
};

struct BpfConfig {
  bool enabled = true;
};

struct AgentConfig {
  std::string node;  // default: the host's name
  Duration tick = std::chrono::seconds(1);
  std::string state_dir = "/var/lib/wattle";
  std::uint64_t spool_max_bytes = std::uint64_t{64} << 20;  // on disk, below state_dir; 0: records wait in memory only
  std::size_t outbox_records = 600;                         // then
  std::uint64_t pod_capacity = 0;
  double link_bytes_per_s = 0;  // 0: what the interfaces say
  double disk_bytes_per_s = 0;  // 0: not told
  std::map<std::string, std::string> labels;
  ControllerConfig controller;
  std::string http_address = "127.0.0.1";
  std::optional<std::uint16_t> http_port;
  http::Access http_access;
  std::size_t http_max_workloads = 1000;
  Duration http_energy_floor = std::chrono::seconds(1);  // energy on /metrics moves at most once in this time
  EchoConfig echo;
  Roots roots;
  std::vector<std::string> pod_parents;  // cgroup paths whose children are pods by their name
  std::vector<ProbeTarget> probes;
  EstimateConfig estimate;
  std::optional<PcmEndpoint> pcm;  // absent: PCM is not asked
  BpfConfig bpf;
  ProvisioningConfig provisioning;
  std::vector<IpNetwork> cluster_networks;  // round trips to peers there are not the users'
  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::automatic;
};

inline constexpr Duration kMinTick = std::chrono::milliseconds(100);
inline constexpr Duration kMaxTick = std::chrono::seconds(60);
inline constexpr Duration kMaxProvisioningTick = std::chrono::seconds(5);  // an actuator waits 10 s for its orders
inline constexpr std::int64_t kMinSpoolBytes = 8 << 20;

Result<AgentConfig> load_config(const std::string& path);
Result<AgentConfig> parse_config(const std::string& text, const std::string& name);
// Every key with what holds without it, for docs/reference/configuration.md.
std::vector<config::Key> config_keys();
std::string host_name();

}  // namespace wattle::agent
