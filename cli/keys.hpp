// keys: what the parts of `wattle keys` share.
// Threads  main only
#pragma once

#include <string_view>

#include "cli/command.hpp"

namespace wattle::cli {

struct KeysAction {
  std::string_view name;
  std::string_view help;
  int (*run)(const Invocation& invocation);
};

// `keys token new|list|revoke`: tokens with which nodes enrol.
void declare_tokens(CLI::App& keys, Arguments& arguments);
// "token new" and so on; null: none of these.
const KeysAction* token_action(std::string_view name);

// `keys bootstrap` and `keys unpack`: the keys of an installation in Kubernetes.
void declare_cluster_keys(CLI::App& keys, Arguments& arguments);
const KeysAction* cluster_action(std::string_view name);

}  // namespace wattle::cli
