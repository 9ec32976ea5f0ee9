// config: the agent's configuration file.
// Source   a strict YAML file (docs/reference/configuration.md has every key). Every key except the controller's has a
//          default
// Errors   malformed; reports all mistakes at once, each with file, line, key and fix
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
#include "agent/power/sleep_config.hpp"
#include "agent/roots.hpp"
#include "common/actuation.hpp"
#include "common/clock.hpp"
#include "common/config.hpp"
#include "common/http/access.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::agent {

// The controller's URL at which the agent enrols its key.
struct EnrolConfig {
  std::string url;  // "https://controller:7463"; empty: an operator allows keys by hand
  std::string token_file, ca_file;
  std::string host, path;  // of the URL
  std::uint16_t port = 0;
  bool tls = true;
};

struct ControllerConfig {
  std::string endpoint;         // "tcp://controller:7460"; empty: no controller
  std::string server_key_file;  // the controller's public key
  std::string key_file;         // this agent's key pair
  EnrolConfig enrol;            // creates both files if they are missing, below state_dir if not named
};

struct EstimateConfig {
  std::optional<double> idle_w, max_w;
  std::vector<double> curve;  // share of (max - idle) at evenly spaced utilisations
};

// The actuator's socket and the workloads that it may limit.
struct ProvisioningConfig {
  std::string socket;                          // empty: no actuator
  std::vector<std::string> limits = {};        // names of services and VMs at level `limits`
  std::vector<std::string> protect = {};       // the same for level `protect`
  std::vector<LatencySource> latency = {};     // at most one per workload
  std::vector<AnswerTarget> connections = {};  // latency measured in the kernel; at most one per workload
  bool margins = false;     // the controller may move margins by rungs, and send a student (actuation::kStudentFile)
  bool pod_limits = false;  // annotated pods may be at level `limits` or `protect`
};

struct BpfConfig {
  bool enabled = true;
};

struct AgentConfig {
  std::string node;  // default: the host's name
  Duration tick = std::chrono::seconds(1);
  std::string state_dir = "/var/lib/wattle";
  std::uint64_t spool_max_bytes = std::uint64_t{64} << 20;  // on disk, below state_dir; 0: records wait in memory only
  std::uint64_t pod_capacity = 0;
  std::map<std::string, std::string> labels;
  ControllerConfig controller;
  std::string http_address = "127.0.0.1";
  std::optional<std::uint16_t> http_port;
  http::Access http_access;
  EchoConfig echo;
  Roots roots;
  bool nested = false;                   // the node shares its kernel with others: uses the values of its own cgroup
  std::vector<std::string> pod_parents;  // cgroup paths whose children are pods, named by the directory
  std::vector<ProbeTarget> probes;
  EstimateConfig estimate;
  std::optional<PcmEndpoint> pcm;  // unset: PCM is not used
  BpfConfig bpf;
  ProvisioningConfig provisioning;
  SleepConfig power;
  std::vector<IpNetwork> cluster_networks;  // round trips to peers in them do not count as users'
  LogLevel log_level = LogLevel::info;
};

inline constexpr Duration kMinTick = std::chrono::milliseconds(100);
inline constexpr Duration kMaxTick = std::chrono::seconds(60);
inline constexpr Duration kMaxProvisioningTick = std::chrono::seconds(5);  // an actuator waits 10 s for its orders
inline constexpr std::int64_t kMinSpoolBytes = 8 << 20;

Result<AgentConfig> load_config(const std::string& path);
Result<AgentConfig> parse_config(const std::string& text, const std::string& name);
// Returns every key with its default, for docs/reference/configuration.md.
std::vector<config::Key> config_keys();
// Refuses names that no allow list can contain.
Status check_node_name(const std::string& name);
// Returns the name of this machine as a kubelet writes it; "localhost" if it has none.
std::string own_node_name();

}  // namespace wattle::agent
