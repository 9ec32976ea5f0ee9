// config: configuration of a shim.
// Source   a strict YAML file (systemd/etc/shim.yaml shows every key)
// Errors   malformed; reports all mistakes at once, each with file, line, key and fix
// Threads  values
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/config.hpp"
#include "common/http/access.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::shim {

struct ShimConfig {
  std::string listen_address = "127.0.0.1";
  std::uint16_t listen_port = 8888;
  http::Access listen_access;
  std::string plugin_socket;  // path of the unix socket for the scheduler plugin; empty: none
  // Second endpoint, only for probes and metrics: for example if kube-scheduler uses loopback and probes use the
  // network.
  std::string http_address = "127.0.0.1";
  std::optional<std::uint16_t> http_port;  // unset: none
  http::Access http_access;                // its token and hosts are those of the first endpoint's /metrics too
  std::string ask_endpoint = "tcp://127.0.0.1:7462";
  std::string feed_endpoint = "tcp://127.0.0.1:7461";
  std::string key_file;                    // the shim's own key pair
  std::string server_key_file;             // the controller's public key
  std::chrono::milliseconds deadline{20};  // for the controller's answer
  bool filter = false;                     // verb filter vetoes by hard latency limits; false: all nodes pass
  // Limits scores of pods with soft preferences to kBoundedScore. Set to false if the scheduler's profile gives
  // preferences more weight than the scores.
  bool bound_scores = true;
  LogLevel log_level = LogLevel::info;
};

Result<ShimConfig> load_config(const std::string& path);
Result<ShimConfig> parse_config(const std::string& text, const std::string& name);
// All keys with their defaults, for docs/reference/configuration.md.
std::vector<config::Key> config_keys();

}  // namespace wattle::shim
