// prediction_error: measures how far rewards deviate from the models' predictions; decisions report it as uncertainty.
// Source   outcomes: the reward minus the prediction for the chosen node at decision time. Q is not subtracted, because
//          it includes later rewards and is centred on a value that moves during learning
// Gives    the standard deviation of the last kKept errors: for one node from kLeastOfNode errors on, otherwise for all
//          nodes from kLeast on. It includes model errors and measurement noise, and is not a bound on the mean
// Bounds   kKept errors overall and for each of kMaxNodes nodes
// Threads  single owner
#pragma once

#include <cmath>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "common/stats/moments.hpp"

namespace wattle::controller {

class PredictionError {
 public:
  static constexpr std::size_t kKept = 200, kLeast = 20, kLeastOfNode = 10, kMaxNodes = 20'000;

  void add(const std::string& node, double error) {
    if (!std::isfinite(error)) return;
    keep(all_, error);
    if (const auto found = nodes_.find(node); found != nodes_.end()) {
      keep(found->second, error);
    } else if (nodes_.size() < kMaxNodes) {
      keep(nodes_[node], error);
    }
  }
  std::optional<double> of(const std::string& node) const {
    const auto found = nodes_.find(node);
    if (found != nodes_.end() && found->second.size() >= kLeastOfNode) return deviation(found->second);
    if (all_.size() < kLeast) return std::nullopt;
    return deviation(all_);
  }
  void clear() {
    all_.clear();
    nodes_.clear();
  }

 private:
  static void keep(std::deque<double>& errors, double error) {
    errors.push_back(error);
    if (errors.size() > kKept) errors.pop_front();
  }
  static double deviation(const std::deque<double>& errors) {
    stats::Moments moments;
    for (const double error : errors) moments.add(error);
    return moments.deviation();
  }
  std::deque<double> all_;
  std::map<std::string, std::deque<double>> nodes_;
};

}  // namespace wattle::controller
