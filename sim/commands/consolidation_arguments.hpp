// consolidation_arguments: what the commands that play the consolidation scenarios take: data, side, scenario, knowledge.
// Names    consolidation_fill, consolidation_churn; the former one, with --churn, is of both
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
  std::string scenario, knowledge = "oracle", fill = "60-68", sizes = "one-core", trace_dir;
  double demand_scale = 3;
  bool teaches = false;  // sizes and crowds may be played on the kernel, too
  consolidation::Options options;
};
// Any of those names; consolidation, of both, where labels say which.
bool is_consolidation(std::string_view name);
void add_consolidation_options(CLI::App& app, ConsolidationArguments& arguments);
// As typed, into arguments.options.
Status apply(ConsolidationArguments& arguments);
Result<consolidation::Dataset> load(const ConsolidationArguments& arguments);

}  // namespace wattle::sim::commands
