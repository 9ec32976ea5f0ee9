// scored_guesses: several guesses of one value made one by how far off each has been of late, and a range that follows how often it was missed.
// Weights  one over the error of each to the fourth (after Bates and Granger 1969: nearly the best of late alone), of errors that fade
// Range    wider by much after a value that it missed, narrower by little after one within, so that in the long run the wanted share is
//          within, whatever comes (Gibbs and Candes 2021)
// Errors   none; unpack: the reader's
// Threads  values
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "placement/packed.hpp"

namespace wattle::placement {

template <std::size_t N>
class ScoredGuesses {
 public:
  using Guesses = std::array<std::optional<double>, N>;

  // `keep`: what is left of the errors before.
  void judge(const Guesses& guesses, double value, double keep) {
    for (std::size_t i = 0; i < N; ++i) {
      if (!guesses[i]) continue;
      const double error = *guesses[i] - value;
      square_[i] = square_[i] * keep + error * error;
      weight_[i] = weight_[i] * keep + 1;
    }
  }
  // Squared errors below `least_square` are alike. Of guesses that were never judged `first` alone has a say, and must be there.
  struct Together {
    double value = 0, mean_square = 0;  // of the errors that its guesses had
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
  std::array<double, N> square_{};  // of errors, faded
  std::array<double, N> weight_{};  // of values in square_
};

// The range after a value. `share` of them should be within; `step`: of its logarithm.
inline double followed_range(double range, bool within, double share, double step, double least, double most) {
  return std::clamp(range * std::exp(step * (within ? share - 1 : share)), least, most);
}

}  // namespace wattle::placement
