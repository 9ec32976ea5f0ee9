// pre: `wattle doctor --pre`: checks files, a cluster or this machine before an installation.
// Errors   exit 1: a check failed; 2: a file or the cluster cannot be read
// Threads  main only
#pragma once

#include <string>
#include <vector>

#include "cli/cluster.hpp"
#include "cli/command.hpp"

namespace wattle::cli {

struct PreOptions {
  bool this_node = false;
  std::string values_file;
  std::vector<std::string> scheduler_files;
  std::string control = "wattle", agents = "wattle-agent";  // namespaces
};
Outcome run_pre(const Invocation& invocation, const PreOptions& options);

}  // namespace wattle::cli
