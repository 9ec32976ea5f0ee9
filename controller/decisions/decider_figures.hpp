// decider_figures: counts and recent values of decisions, placements and outcomes, for documents and metrics.
// Threads  values
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/stats/bucket_counts.hpp"

namespace wattle::controller {

inline constexpr std::array kDecideBounds_s{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                            0.01,    0.025,  0.05,    0.1,    0.25,  1.0};

struct DeciderFigures {
  std::uint64_t asks = 0, decisions = 0;
  std::map<std::string, std::uint64_t, std::less<>> decided_by;  // the decisions, by placement::kDeciders
  std::uint64_t placements = 0;                                  // pods that an agent or operator reported
  std::uint64_t placements_unasked = 0;                          // of those, without an ask
  std::uint64_t outcomes = 0;
  std::deque<double> decide_us;  // of the last decisions
  stats::BucketCounts<kDecideBounds_s.size()> decide_s{kDecideBounds_s};
  std::deque<double> rewards;  // of the last outcomes
  std::deque<MonoTime> decided_at;

  void rewarded(double reward) {
    constexpr std::size_t kKept = 100;
    rewards.push_back(reward);
    if (rewards.size() > kKept) rewards.pop_front();
  }
  // Returns the mean of the last outcomes.
  std::optional<double> mean_reward() const {
    if (rewards.empty()) return std::nullopt;
    return std::accumulate(rewards.begin(), rewards.end(), 0.0) / static_cast<double>(rewards.size());
  }
  // Decisions by one of placement::kDeciders.
  std::uint64_t by(std::string_view decider) const {
    const auto found = decided_by.find(decider);
    return found == decided_by.end() ? 0 : found->second;
  }
};

}  // namespace wattle::controller
