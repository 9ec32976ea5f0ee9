// keys: the parts of `wattle keys` that keys.cpp does not contain.
// Threads  main only
#pragma once

#include "cli/command.hpp"

namespace wattle::cli {

// `keys token`: tokens for the enrolment of nodes.
void declare_tokens(CLI::App& command, Run& chosen);
// `keys controller`: creates missing files of a controller's configuration.
void declare_controller_keys(CLI::App& command, Run& chosen);
// `keys bootstrap` and `keys unpack`: the keys of an installation in Kubernetes.
void declare_bootstrap(CLI::App& command, Run& chosen);
void declare_unpack(CLI::App& command, Run& chosen);

}  // namespace wattle::cli
