// x8_arguments: what the commands that play X8 take: data, side, scenario, knowledge.
// Errors   malformed: a range of fills; those of loading data
// Threads  main thread
#pragma once

#include <string>

#include "common/result.hpp"
#include "sim/x8/episode.hpp"

namespace CLI {
class App;
}

namespace wattle::sim::commands {

struct X8Arguments {
  std::string scenario, knowledge = "oracle", fill = "60-68", trace_dir;
  double demand_scale = 3;
  x8::Options options;
};
void add_x8_options(CLI::App& app, X8Arguments& arguments);
// As typed, into arguments.options.
Status apply(X8Arguments& arguments);
Result<x8::Dataset> load(const X8Arguments& arguments);

}  // namespace wattle::sim::commands
