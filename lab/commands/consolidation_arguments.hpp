// consolidation_arguments: common options of the commands that play the consolidation scenarios: data, side, scenario,
// knowledge.
// Names    consolidation_fill, consolidation_churn
// Errors   malformed: a range of fills; those of loading data
// Threads  main thread
#pragma once

#include <string>

#include "common/result.hpp"
#include "sim/scenarios/consolidation.hpp"

namespace CLI {
class App;
}

namespace wattle::sim::consolidation {
struct BenchOptions;
}

namespace wattle::sim::commands {

struct ConsolidationArguments {
  std::string scenario, cluster_model = "oracle", fill = "60-68", sizes = "one-core", trace_dir;
  bool teaches = false;  // for labels, on the kernel; set before the options are added
  consolidation::Options options;
};
// Returns true for either name, and for consolidation, which covers both if labels decide.
bool is_consolidation(std::string_view name);
void add_consolidation_options(CLI::App& app, ConsolidationArguments& arguments);
// Adds --seeds, --first-seed and --nodes of a command that plays fleets of one size.
void add_fleet_options(CLI::App& app, consolidation::BenchOptions& bench);
// Converts the typed values into arguments.options.
Status apply(ConsolidationArguments& arguments);
// Loads the data of a directory; empty: synthetic.
Result<consolidation::Dataset> load(const std::string& trace_dir);
Result<consolidation::Dataset> load(const ConsolidationArguments& arguments);

}  // namespace wattle::sim::commands
