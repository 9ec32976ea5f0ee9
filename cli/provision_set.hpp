// provision_set: `wattle provision set` and `wattle provision restore`, the only commands that write to pods.
// Errors   exit 1: the API server or the controller refuses, or a pod could not be restored; 2: usage
// Threads  main only
#pragma once

#include "cli/command.hpp"

namespace wattle::cli {

void declare_provision_set(CLI::App& command, Run& chosen);
void declare_provision_restore(CLI::App& command, Run& chosen);

}  // namespace wattle::cli
