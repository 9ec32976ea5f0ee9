// cells: what a profile of a service measures: each rate of requests under each CPU quota, one line of JSON a cell.
// Resume   a file of earlier lines says which cells are done; a line that was cut is done anew
// Units    in the fields' names
// Errors   done_cells: malformed, with the line: the file is of another service or profile
// Threads  pure
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::sim::profile {

struct Cell {
  double quota_cores = 0, rate_rps = 0;
  auto operator<=>(const Cell&) const = default;
};

struct Measured {
  double seconds = 0;
  double due_rps = 0, answered_rps = 0;
  std::uint64_t failed = 0;
  std::optional<double> p50_ms, p99_ms;  // absent: nothing was answered
  double used_cores = 0;
  std::optional<double> throttled_ratio;  // of the periods in which it ran; absent: in none
  std::optional<double> power_w;          // of the whole node
  std::string power_source;               // "rapl", "estimated", ...; empty: nothing tells it
};

// All quotas, each with all rates, each once, in rising order.
std::vector<Cell> cells_of(std::vector<double> quotas_cores, std::vector<double> rates_rps);
// Its line, with the newline. `service`: what was started.
std::string line_of(const Cell& cell, const Measured& measured, const std::string& service);

struct DoneCells {
  std::vector<Cell> cells;
  std::size_t bytes = 0;  // of whole lines; what follows was cut
};
Result<DoneCells> done_cells(std::string_view text, const std::vector<Cell>& wanted, const std::string& service);

// What `wattle-load http -o json` said, progress before it included, into `out`.
Status read_load(std::string_view said, Measured& out);
// What `wattle-agent sample --count 2` wrote: the power between the two, if it is known.
void read_power(std::string_view samples, Measured& out);

}  // namespace wattle::sim::profile
