// settings: the controller's address and this client's keys.
// Source   with --context, the cluster (cli/cluster_route); for `kubectl wattle` without a configuration, the current
//          context. Otherwise the options, then the strict YAML file in WATTLE_CONFIG, otherwise
//          ~/.config/wattle/cli.yaml, otherwise /etc/wattle/cli.yaml if it exists (keys: server, feed, key, server_key,
//          timeout, allow_list; "~/" is the home directory)
// Units    timeout in milliseconds here; "5s", "250ms" or seconds in the file and on the command line
// Errors   malformed, naming file and key or the option
// Threads  values
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/cluster_route.hpp"
#include "cli/command.hpp"
#include "common/config.hpp"

namespace wattle::cli {

struct Settings {
  std::string server = "tcp://127.0.0.1:7462";
  std::string feed;             // if not set: the server's host and the next lower port
  std::string key_file;         // our key pair
  std::string server_key_file;  // the controller's public key
  std::chrono::milliseconds timeout{5'000};
  std::string allow_list_file;          // empty: none
  bool found = false;                   // true with a file, or with --key; otherwise these are defaults
  bool by_cluster = false;              // the controller is reached through its cluster
  std::shared_ptr<ClusterRoute> route;  // replaces server, feed and both key files; null: none
};

// Reads options and files; does not open a route.
Result<Settings> read_settings(const Invocation& invocation);
Result<Settings> load_settings(const Invocation& invocation);
// Returns every key of the file with its default, for docs/reference/configuration.md.
std::vector<config::Key> config_keys();

}  // namespace wattle::cli
