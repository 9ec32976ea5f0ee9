// provision_mode: `wattle provision mode`: shows how right sizes are applied, and changes it.
// Errors   exit 1: the controller refuses; 2: usage
// Threads  main only
#pragma once

#include "cli/command.hpp"

namespace wattle::cli {

void declare_provision_mode(CLI::App& command, Run& chosen);

}  // namespace wattle::cli
