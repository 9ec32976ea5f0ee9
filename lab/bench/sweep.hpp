// sweep: measures throughput, response and watts of every server model at every load level, under closed-loop users, as
// one line of JSON each.
// Source   servers; the level is the share of all cores that users would want without any waiting
// Resume   a file of earlier lines defines the finished cells; a truncated line is repeated
// Units    in the fields' names
// Errors   finished_cells: malformed, with the line: the file is of another sweep
// Threads  pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.hpp"
#include "sim/world/power.hpp"

namespace wattle::sim {

struct SweepOptions {
  std::vector<ServerModel> servers;
  std::vector<double> levels;  // 0..1.5
  double settle_s = 60, measure_s = 300;
  std::uint64_t seed = 1;
};

struct SweepCell {
  std::string server;
  double level = 0;
  bool operator<(const SweepCell& other) const {
    return std::pair(server, level) < std::pair(other.server, other.level);
  }
};

std::vector<SweepCell> sweep_cells(const SweepOptions& options);
// Returns the cell's line, with the newline.
std::string run_cell(const SweepOptions& options, const SweepCell& cell);

struct Finished {
  std::vector<SweepCell> cells;
  std::size_t bytes = 0;  // of whole lines; the rest is truncated
};
Result<Finished> finished_cells(std::string_view text, const SweepOptions& options);

}  // namespace wattle::sim
