// consolidation_arguments: common options of the commands that run the consolidation scenarios: data, side, scenario,
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

namespace wattle::sim::commands {

struct ConsolidationArguments {
  std::string scenario, cluster_model = "oracle", fill = "60-68", sizes = "one-core", side = "report", trace_dir;
  bool teaches = false;  // for labels, on the kernel; set before the options are added
  consolidation::Options options;
};
// Returns true for either name, and for consolidation, which covers both if labels decide.
bool is_consolidation(std::string_view name);
void add_consolidation_options(CLI::App& app, ConsolidationArguments& arguments);
// --side
void add_side_option(CLI::App& app, std::string& side);
consolidation::Side side_of(const std::string& side);
// Adds --seeds, --first-seed and --nodes of a command that runs fleets of one size.
void add_fleet_options(CLI::App& app, std::size_t& seeds, std::uint64_t& first_seed, std::size_t& nodes);
// Converts the typed values into arguments.options.
Status apply(ConsolidationArguments& arguments);
// The same for a command that needs a controller's own knowledge and pods that come and go, otherwise out_of_range.
Result<consolidation::Options> churn_under_controller(ConsolidationArguments& arguments, const std::string& command);
// Loads the data of a directory; empty: synthetic.
Result<consolidation::Dataset> load(const std::string& trace_dir);
Result<consolidation::Dataset> load(const ConsolidationArguments& arguments);

}  // namespace wattle::sim::commands
