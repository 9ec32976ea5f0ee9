// fleet_history: the fleet's figures over time for charts of any span, the pods on each node of a small fleet, and
// marks of events.
// Source   add() once in each kFinestStep of the wall clock, by Series
// Tiers    means over 5 s for an hour, a minute for a day, 10 minutes for a week, and an hour for 90 days
// Bounds   kMostNodes nodes and kMostMarks marks; 0.6 MB in memory and 1.2 MB in the file. An answer has at most
//          kMostPoints points
// Format   "wattle-history 1\n", SHA-256 of the rest in hex, "\n", the rest (placement/cluster/packed.hpp): version of
//          the columns, names of nodes, tiers, marks
// Units    in the names of values; NaN is unknown
// Errors   restore: malformed
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::controller {

struct HistoryMark {
  std::int64_t at_s = 0;  // Unix
  std::string kind;       // "start", "mode" or "network"
  std::string text;       // "mode shadow -> live"
};

class FleetHistory {
 public:
  static constexpr std::array<std::string_view, 12> kValues{
      "measured_w", "estimated_w", "default_w", "cpu_used_cores",  "cpu_wait_ratio",    "late_ratio",
      "reward",     "loss",        "pods",      "nodes_with_pods", "decisions_per_min", "successful_per_min"};
  static constexpr std::size_t kMostNodes = 16, kWidth = kValues.size() + kMostNodes, kMostMarks = 200;
  static constexpr std::size_t kMostPoints = 400;
  static constexpr std::int64_t kFinestStep_s = 5;
  using Row = std::array<float, kWidth>;
  struct Slot {
    std::int64_t number = 0;  // Unix seconds divided by the tier's step
    Row values{};
  };
  struct Tier {
    std::int64_t step_s = 0;
    std::size_t capacity = 0;
    std::deque<Slot> slots;  // oldest first
    // Sums in the current slot.
    std::int64_t number = 0;
    std::array<double, kWidth> sums{};
    std::array<std::uint32_t, kWidth> counts{};
    Row mean() const;
    void add(std::int64_t at_s, const Row& row);
  };

  // Adds the values of one moment. `pods` by node; empty: more than kMostNodes nodes.
  void add(std::int64_t at_s, const std::array<float, kValues.size()>& values,
           const std::vector<std::pair<std::string, std::size_t>>& pods);
  void mark(HistoryMark event);
  const std::deque<HistoryMark>& marks() const { return marks_; }
  const Tier& hours() const { return tiers_.back(); }
  // Names of columns after kValues; empty: not in use.
  const std::array<std::string, kMostNodes>& nodes() const { return nodes_; }

  // The finest tier that has all known values since `from_s`, and the steps of an answer.
  struct Range {
    const Tier* tier = nullptr;
    std::int64_t from_s = 0, step_s = 0;  // of the first point
    std::size_t points = 0;
  };
  Range range(std::int64_t from_s, std::int64_t until_s) const;

  std::string save() const;
  Status restore(std::string_view bytes);

 private:
  std::size_t column_of(const std::string& node, const std::vector<std::pair<std::string, std::size_t>>& there);

  std::array<Tier, 4> tiers_{Tier{kFinestStep_s, 720}, Tier{60, 1440}, Tier{600, 1008}, Tier{3600, 2160}};
  std::array<std::string, kMostNodes> nodes_;
  std::deque<HistoryMark> marks_;  // oldest first
};

}  // namespace wattle::controller
