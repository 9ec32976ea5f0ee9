// prediction_error: how far rewards have been from what models predicted, as the uncertainty that a decision is told with.
// Source   outcomes: the reward, less what was predicted of the node it went to when it was decided. Not less Q, which counts later
//          rewards too, about a centre that moves while it is learned
// Gives    the standard deviation of the last kKept: of one node once it has kLeastOfNode, else of all once there are kLeast.
//          It holds what models do not know and noise of measuring; it is no bound on the mean
// Bounds   kKept for all, and for each of kMaxNodes nodes
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
