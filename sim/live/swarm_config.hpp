// swarm_config: the settings of a swarm, and its controller, from a YAML file and the command line.
// Units    in names
// Errors   all mistakes of the file at once, each with key and fix; malformed for texts of the command line
// Threads  values
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/kube/http_api.hpp"
#include "common/result.hpp"
#include "sim/live/fleet.hpp"

namespace wattle::sim::live {

struct SwarmOptions {
  std::size_t nodes = 7;            // of all parts
  std::size_t part = 1, parts = 1;  // this process simulates share `part` of `parts` equal ones; the first is 1
  std::string endpoint = "tcp://127.0.0.1:7460";
  std::string keys_dir;    // <node>.key each
  std::string server_key;  // file with the controller's public key
  std::string listen_address = "127.0.0.1";
  std::uint16_t listen_port = 0;
  double tick_s = 1.0;
  std::size_t outbox_records = 600;  // per node, kept while the controller is away
  FleetOptions fleet;
  std::optional<kube::ApiServer> kube;  // the nodes follow its bindings; unset: POST /pods only
};

// Parses "127.0.0.1:8060" into listen_address and listen_port.
Status parse_listen(const std::string& text, SwarmOptions& options);
// Loads all keys of a YAML file; unknown ones are errors.
Status load_swarm_config(const std::string& path, SwarmOptions& options);
// Parses "2/3" into part and parts.
Status parse_part(const std::string& text, SwarmOptions& options);

}  // namespace wattle::sim::live
