// cells: the measurements of a service's profile: each request rate under each CPU quota, one line of JSON per cell.
// Resume   a file of earlier lines defines the finished cells; a truncated line is repeated
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
  std::optional<double> p50_ms, p99_ms;  // unset if there was no answer
  double used_cores = 0;
  std::optional<double> throttled_ratio;  // of the periods in which it ran; unset without such periods
  std::optional<double> power_w;          // of the whole node
  std::string power_source;               // "rapl", "estimated", ...; empty without a source
};

// Returns all quotas, each with all rates, each once, in rising order.
std::vector<Cell> cells_of(std::vector<double> quotas_cores, std::vector<double> rates_rps);
// Returns the cell's line, with the newline. `service`: the started command.
std::string line_of(const Cell& cell, const Measured& measured, const std::string& service);

struct DoneCells {
  std::vector<Cell> cells;
  std::size_t bytes = 0;  // of whole lines; the rest is truncated
};
Result<DoneCells> done_cells(std::string_view text, const std::vector<Cell>& wanted, const std::string& service);

// Reads the output of `wattle-load http -o json`, including progress before it, into `out`.
Status read_load(std::string_view said, Measured& out);
// Reads the output of `wattle-agent sample --count 2`: the power between the two samples, if known.
void read_power(std::string_view samples, Measured& out);

}  // namespace wattle::sim::profile
