// config: what a shim is told by its configuration file.
// Source   a strict YAML file (systemd/etc/shim.yaml shows every key)
// Errors   malformed, all mistakes at once, each with file, line, key and mend
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
  http::Access listen_access;  // a token guards /metrics alone: kube-scheduler shows none
  unsigned threads = 4;        // requests answered at the same time
  // A second endpoint, for probes and metrics alone: where kube-scheduler is asked on loopback, and others come by the network.
  std::string http_address = "127.0.0.1";
  std::optional<std::uint16_t> http_port;  // absent: none
  http::Access http_access;
  std::string ask_endpoint = "tcp://127.0.0.1:7462";
  std::string feed_endpoint = "tcp://127.0.0.1:7461";
  std::string key_file;                    // the shim's own key pair
  std::string server_key_file;             // the controller's public key
  std::chrono::milliseconds deadline{20};  // for the controller's answer
  bool filter = false;                     // verb filter vetoes by hard latency limits; false: all pass
  // Scores of pods with soft preferences are at most kBoundedScore; false: the scheduler's profile weighs preferences above the scores.
  bool bound_scores = true;
  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::automatic;
};

Result<ShimConfig> load_config(const std::string& path);
Result<ShimConfig> parse_config(const std::string& text, const std::string& name);
// Every key with what holds without it, for docs/reference/configuration.md.
std::vector<config::Key> config_keys();

}  // namespace wattle::shim
