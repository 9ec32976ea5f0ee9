// provision_arguments: the command line options for the worlds of `provision` and `provision-env`.
// Units    ms where the name says so
// Errors   of the traces' files
// Threads  values
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/rate_trace.hpp"
#include "sim/provision/world.hpp"

namespace CLI {
class App;
}

namespace wattle::sim::commands {

struct ProvisionWorldArguments {
  std::vector<std::string> trace_files;
  double scale = 1, target_ms = 100, work_ms = 4;
  std::size_t services = 1, minutes = 60;
  std::uint64_t synthetic_seed = 1;
};

void add_provision_options(CLI::App& app, ProvisionWorldArguments& arguments);
Result<std::vector<RateTrace>> provision_traces(const ProvisionWorldArguments& arguments);
provision::WorldOptions provision_world(const ProvisionWorldArguments& arguments);

}  // namespace wattle::sim::commands
