// paired_evidence: a confidence interval for the mean of paired differences that is valid at any time, so that a test
// may check it after every pair and stop at any of them.
// Apart    the sides of a pair may differ in only part of a full comparison. Then difference = apart x mean + noise,
//          and each pair counts with the weight `apart`
// Source   differences of pairs whose order was drawn at random. Given the past, each difference minus the true mean is
//          then symmetric, which is all that the method assumes: no bound, no variance and no normal distribution
// Method   S and V are the sum and the sum of squares of apart x (difference - apart x mean). For each stake, exp(stake
//          S - stake^2 V / 2) is a supermartingale (de la Pena 1999). Its mixture over normal stakes has the capital
//          exp(S^2 / (2 (V + kPrior))) / sqrt((V + kPrior) / kPrior) (Robbins 1970). The interval contains each mean
//          whose capital is below 1 / alpha (Ville's inequality)
// Upper    upper() is cheaper evidence for budgets: it takes the noise's standard deviation as known, and normal
// Far ends a mean so far away that all differences lie on one side of it has little capital again. The interval
//          excludes it, which is wrong with a probability of 2^(1 - kLeast) at most; interval() deducts that from alpha
// Units    those of the differences, relative costs of about 0.01 to 0.1 (kPrior)
// Errors   none: differences that are not finite are ignored
// Threads  value
#pragma once

#include <cstddef>
#include <optional>

#include "common/stats/interval.hpp"

namespace wattle::stats {

class PairedEvidence {
 public:
  static constexpr std::size_t kLeast = 9;  // pairs
  static constexpr double kPrior = 2e-3;
  static constexpr double kUpper = 0.5, kUpperPrior = 0.07;  // the latter in pairs

  void add(double difference, double apart = 1);
  std::size_t pairs() const { return pairs_; }
  double mean() const { return weight_ > 0 ? sum_ / weight_ : 0; }
  // Returns the logarithm of the capital against that mean.
  double against(double mean) const;
  // No value below kLeast pairs, or while every mean is possible. `alpha` must exceed 2^(1 - kLeast).
  std::optional<Interval> interval(double alpha) const;

  // Returns a bound that the mean never exceeds with a probability of 1 - kUpper / 2; no value without pairs.
  // `deviation`: of one difference.
  std::optional<double> upper(double deviation) const;

  // Sums of differences d and parts a, to keep over a restart.
  struct Sums {
    std::size_t pairs = 0;
    double ad = 0, aadd = 0, aa = 0, aaad = 0, aaaa = 0;
  };
  Sums sums() const { return {pairs_, sum_, squares_, weight_, cross_, fourth_}; }
  // Returns false, without a change, if no differences have these sums.
  bool restore(const Sums& sums);

 private:
  // Distance from the mean, on that side (1 or -1), where the capital reaches exp(enough); no value if it never does.
  std::optional<double> reach(double side, double enough) const;

  std::size_t pairs_ = 0;
  double sum_ = 0, squares_ = 0, weight_ = 0, cross_ = 0, fourth_ = 0;
};

}  // namespace wattle::stats
