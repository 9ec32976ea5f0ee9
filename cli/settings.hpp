// settings: where the controller is and who we are.
// Source   --options, else the strict YAML file in WATTLE_CONFIG, else ~/.config/wattle/cli.yaml, else
//          /etc/wattle/cli.yaml if it is there (keys: server, feed, key, server_key, timeout, allow_list; "~/" is the home directory)
// Units    timeout in milliseconds here; "5s", "250ms" or seconds in the file and on the command line
// Errors   malformed, naming file and key or the option
// Threads  values
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "common/config.hpp"

namespace wattle::cli {

struct Settings {
  std::string server = "tcp://127.0.0.1:7462";
  std::string feed;             // empty in file and options: the server's host, and the port below its own
  std::string key_file;         // our key pair
  std::string server_key_file;  // the controller's public key
  std::chrono::milliseconds timeout{5'000};
  std::string allow_list_file;  // empty: none
  bool found = false;           // a file, or a key by --key; else all of this is what holds without one
};

Result<Settings> load_settings(const Invocation& invocation);
// Every key of the file with what holds without it, for docs/reference/configuration.md.
std::vector<config::Key> config_keys();

}  // namespace wattle::cli
