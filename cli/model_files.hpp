// model_files: `wattle model record` and `wattle model add`: write the cluster's record to a file, and add a network
// from a file.
// Threads  main only
#pragma once

#include "cli/command.hpp"

namespace wattle::cli {

inline constexpr const char* kWhyOfModel = "Reason, recorded with the change";

void declare_model_record(CLI::App& command, Run& chosen);
void declare_model_add(CLI::App& command, Run& chosen);

}  // namespace wattle::cli
