#include "sim/scenarios/pod_sizes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

constexpr std::size_t kMaxTableBytes = 64 << 20;
constexpr double kMiB = 1024.0 * 1024;

// Reads the numbers of the named columns, line after line; an empty cell is 0. `row` returns the problem of a line, or
// an empty text.
template <class Row>
Status read_columns(std::string_view csv, const std::string& file, std::span<const std::string_view> names, Row&& row) {
  std::vector<std::size_t> columns;
  std::size_t line_number = 0;
  std::string problem;
  parse::for_each_line(csv, [&](std::string_view line) {
    ++line_number;
    line = parse::trim(line);
    if (line.empty() || !problem.empty()) return;
    const auto cells = parse::split(line, ',');
    const auto bad = [&](const std::string& what) { problem = "line " + std::to_string(line_number) + ": " + what; };
    if (columns.empty()) {
      for (const std::string_view name : names) {
        const auto at = std::find(cells.begin(), cells.end(), name);
        if (at == cells.end()) return bad("has no column " + std::string(name));
        columns.push_back(static_cast<std::size_t>(at - cells.begin()));
      }
      return;
    }
    std::vector<double> numbers;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] >= cells.size()) return bad("is too short for the column " + std::string(names[i]));
      const std::string_view cell = parse::trim(cells[columns[i]]);
      const auto number = cell.empty() ? std::optional(0.0) : parse::real(cell);
      if (!number || *number < 0 || *number > 1e12)
        return bad("column " + std::string(names[i]) + " is not a number of 0 or more");
      numbers.push_back(*number);
    }
    row(numbers);
  });
  if (!problem.empty()) return fail(Errc::malformed, file, problem, "the first line names the columns");
  if (columns.empty()) return fail(Errc::malformed, file, "is empty", "the first line names the columns");
  return {};
}

}  // namespace

Result<double> parse_mean_node_cores(std::string_view csv, const std::string& file) {
  constexpr std::array<std::string_view, 1> kColumns{"cpu_milli"};
  double cores = 0;
  std::size_t nodes = 0;
  WATTLE_CHECK(read_columns(csv, file, kColumns, [&](const std::vector<double>& row) {
    cores += row[0] / 1000;
    ++nodes;
  }));
  if (!(cores > 0)) return fail(Errc::malformed, file, "has no node with cores");
  return cores / static_cast<double>(nodes);
}

Result<std::vector<PodSize>> parse_pod_sizes(std::string_view csv, const std::string& file, double mean_node_cores) {
  constexpr std::array<std::string_view, 4> kColumns{"cpu_milli", "memory_mib", "creation_time", "deletion_time"};
  std::vector<PodSize> sizes;
  WATTLE_CHECK(read_columns(csv, file, kColumns, [&](const std::vector<double>& row) {
    const double cores = row[0] / 1000, life_s = row[3] - row[2];
    if (cores > 0 && row[1] > 0 && life_s > 0)
      sizes.push_back({cores / mean_node_cores, row[1] * kMiB / cores, life_s});
  }));
  if (sizes.size() < 2) return fail(Errc::malformed, file, "has fewer than two pods that ended");
  return sizes;
}

Result<std::vector<PodSize>> load_pod_sizes(const std::string& trace_dir) {
  WATTLE_TRY(const auto dir, Dir::open_(trace_dir));
  const std::string pods = "openb_pods.csv", nodes = "openb_nodes.csv";
  if (!dir.exists(pods)) return std::vector<PodSize>{};
  WATTLE_TRY(const auto of_nodes, dir.read_file(nodes, kMaxTableBytes));
  WATTLE_TRY(const double cores, parse_mean_node_cores(of_nodes, trace_dir + "/" + nodes));
  WATTLE_TRY(const auto of_pods, dir.read_file(pods, kMaxTableBytes));
  return parse_pod_sizes(of_pods, trace_dir + "/" + pods, cores);
}

std::vector<PodSize> synthetic_pod_sizes(std::size_t pods, std::uint64_t seed) {
  constexpr std::array<double, 6> kShares{1.0 / 64, 1.0 / 32, 1.0 / 16, 1.0 / 8, 1.0 / 5, 1.0 / 3};
  constexpr std::array<double, 3> kMiBPerCore{1024, 2048, 4096};
  Random random(mix(seed, 0x73697a6573ULL));
  std::vector<PodSize> sizes;
  for (std::size_t i = 0; i < pods; ++i)
    sizes.push_back({kShares[pick(random, kShares.size())], kMiBPerCore[pick(random, kMiBPerCore.size())] * kMiB,
                     500 * std::exp(1.6 * normal(random))});
  return sizes;
}

}  // namespace wattle::sim::consolidation
