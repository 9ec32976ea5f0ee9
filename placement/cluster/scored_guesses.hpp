// scored_guesses: combines several guesses of one value by their recent errors, with a range that adapts to its misses.
// Weights  the inverse fourth power of each guess's decaying error (after Bates and Granger 1969: nearly the recent
//          best alone)
// Range    widens by much after a miss and narrows by little after a hit, so that in the long run the wanted share is
//          within, for any sequence (Gibbs and Candes 2021)
// Errors   none; unpack: the reader's
// Threads  values
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "placement/cluster/packed.hpp"

namespace wattle::placement {

template <std::size_t N>
class ScoredGuesses {
 public:
  using Guesses = std::array<std::optional<double>, N>;

  // `keep`: decay factor of the earlier errors.
  void judge(const Guesses& guesses, double value, double keep) {
    for (std::size_t i = 0; i < N; ++i) {
      if (!guesses[i]) continue;
      const double error = *guesses[i] - value;
      square_[i] = square_[i] * keep + error * error;
      weight_[i] = weight_[i] * keep + 1;
    }
  }
  // Squared errors below `least_square` count as equal. Among guesses that were never judged only `first` counts; it
  // must have a value.
  struct Together {
    double value = 0, mean_square = 0;  // of the past errors of its guesses
  };
  Together together(const Guesses& guesses, double least_square, std::size_t first) const {
    double sum = 0, squares = 0, weights = 0;
    for (std::size_t i = 0; i < N; ++i) {
      if (!guesses[i] || (weight_[i] == 0 && i != first)) continue;
      const double mean_square = weight_[i] > 0 ? square_[i] / weight_[i] : 0;
      const double precision = 1 / (mean_square + least_square), weight = precision * precision;
      sum += weight * *guesses[i];
      squares += weight * mean_square;
      weights += weight;
    }
    return {sum / weights, squares / weights};
  }

  bool judged() const {
    return std::any_of(weight_.begin(), weight_.end(), [](double weight) { return weight > 0; });
  }

  void pack(PackWriter& out) const {
    for (std::size_t i = 0; i < N; ++i) {
      out.real(square_[i]);
      out.real(weight_[i]);
    }
  }
  void unpack(PackReader& in) {
    for (std::size_t i = 0; i < N; ++i) {
      square_[i] = in.real();
      weight_[i] = in.real();
      if (square_[i] < 0 || weight_[i] < 0) in.refuse();
    }
  }

 private:
  std::array<double, N> square_{};  // of errors, decayed
  std::array<double, N> weight_{};  // of values in square_
};

// Returns the range after a value. `share`: the wanted share within; `step`: step of the range's logarithm.
inline double followed_range(double range, bool within, double share, double step, double least, double most) {
  return std::clamp(range * std::exp(step * (within ? share - 1 : share)), least, most);
}

}  // namespace wattle::placement
