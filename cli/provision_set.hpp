// provision_set: `wattle provision set` and `wattle provision restore`, the only commands that write to pods.
// Errors   reported on stderr; exit 1: the API server or the controller refuses, or a pod could not be restored; 2:
//          usage
// Threads  main only
#pragma once

#include "cli/commands.hpp"

namespace wattle::cli {

inline constexpr std::string_view kSetAction = "set", kRestoreAction = "restore";

// --kubeconfig and --context.
void declare_cluster(CLI::App& command, Arguments& arguments);
void declare_provision_set(CLI::App& command, bool sets, Arguments& arguments);
int run_provision_set(const Invocation& invocation);
// `why`: includes the records in the cluster about the workload.
int run_provision_recorded(const Invocation& invocation);

}  // namespace wattle::cli
