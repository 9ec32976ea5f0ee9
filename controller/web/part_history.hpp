// part_history: the values of a node or a pod over time, in fine steps for an hour and in coarse steps for a day.
// Bounds   324 rows of 4 bytes a value: 5.2 KB of a node's four values, 2.6 KB of a pod's two
// Units    of the caller; NaN is unknown
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/clock.hpp"

namespace wattle::controller {

// Ring buffer for the newest `capacity` rows of a few values.
class Ring {
 public:
  Ring(std::size_t width, std::size_t capacity) : width_(width), capacity_(capacity) {}
  void push(std::span<const float> row);
  std::size_t size() const { return values_.size() / width_; }
  bool full() const { return size() == capacity_; }
  float at(std::size_t row, std::size_t column) const;  // row 0 is the oldest

 private:
  std::size_t width_, capacity_, next_ = 0;
  std::vector<float> values_;
};

class PartHistory {
 public:
  static constexpr Duration kStep = std::chrono::seconds(20), kCoarseStep = std::chrono::minutes(10);
  static constexpr std::size_t kRowsPerCoarse = kCoarseStep / kStep;

  explicit PartHistory(std::size_t width) : width_(width), fine_(width, 180), coarse_(width, 144) {}
  // Adds the values of a step.
  void add(std::span<const float> row) { fine_.push(row); }
  // Ends a coarse step: its values are the means over the last kRowsPerCoarse rows.
  void end_coarse();
  const Ring& fine() const { return fine_; }
  const Ring& coarse() const { return coarse_; }

 private:
  std::size_t width_;
  Ring fine_, coarse_;
};

}  // namespace wattle::controller
