// keys: declarations shared by the parts of `wattle keys`.
// Threads  main only
#pragma once

#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "common/enrol_tokens.hpp"

namespace wattle::cli {

struct KeysAction {
  std::string_view name;
  std::string_view help;
  int (*run)(const Invocation& invocation);
};

// `keys token new|list|revoke`: tokens for the enrolment of nodes.
void declare_tokens(CLI::App& keys, Arguments& arguments);
// A new token and its line in the controller's file. `valid`: for example 15m or 7d.
struct MadeToken {
  EnrolToken line;
  std::string secret;
};
Result<MadeToken> make_token(const std::string& node, const std::string& valid, bool replace);
Status add_token(const std::string& tokens_file, const EnrolToken& line);
// Finds "token new" and so on; null for other names.
const KeysAction* token_action(std::string_view name);

// `keys controller`: creates missing files of a controller's configuration.
void declare_controller_keys(CLI::App& keys, Arguments& arguments);
const KeysAction* controller_action(std::string_view name);

// `keys bootstrap` and `keys unpack`: the keys of an installation in Kubernetes.
void declare_cluster_keys(CLI::App& keys, Arguments& arguments);
const KeysAction* cluster_action(std::string_view name);

}  // namespace wattle::cli
