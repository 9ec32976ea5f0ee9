#include "controller/web/part_history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wattle::controller {

void Ring::push(std::span<const float> row) {
  if (size() < capacity_) {
    values_.insert(values_.end(), row.begin(), row.end());
    return;
  }
  std::copy(row.begin(), row.end(), values_.begin() + static_cast<std::ptrdiff_t>(next_ * width_));
  next_ = (next_ + 1) % capacity_;
}

float Ring::at(std::size_t row, std::size_t column) const { return values_[(next_ + row) % size() * width_ + column]; }

void PartHistory::end_coarse() {
  const std::size_t rows = fine_.size(), first = rows - std::min(rows, kRowsPerCoarse);
  std::vector<float> means(width_, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t column = 0; column < width_; ++column) {
    float sum = 0;
    std::size_t known = 0;
    for (std::size_t row = first; row < rows; ++row) {
      const float value = fine_.at(row, column);
      if (std::isnan(value)) continue;
      sum += value;
      ++known;
    }
    if (known > 0) means[column] = sum / static_cast<float>(known);
  }
  coarse_.push(means);
}

}  // namespace wattle::controller
