// decider_figures: counts and recent values of decisions, placements and outcomes, for documents and metrics.
// Threads  values
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/stats/bucket_counts.hpp"

namespace wattle::controller {

inline constexpr std::array kDecideBounds_s{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                            0.01,    0.025,  0.05,    0.1,    0.25,  1.0};

struct DeciderFigures {
  std::uint64_t asks = 0, repeated = 0, decisions = 0;
  std::map<std::string, std::uint64_t, std::less<>> decided_by;  // the decisions, by placement::kDeciders
  std::uint64_t placements = 0;                                  // pods that an agent or operator reported
  std::uint64_t placements_unasked = 0;                          // of those, without an ask
  std::uint64_t observed = 0;                                    // of those, recorded as observed decisions
  std::uint64_t placements_beyond = 0;                           // reported by agents, ignored: the node has kMaxPods
  std::uint64_t placements_masked = 0;  // on a node that the masks had excluded; not learned from
  std::uint64_t outcomes = 0, outcomes_lost = 0;
  std::map<std::string, std::uint64_t> outcomes_failed;  // of the outcomes, by how
  std::deque<double> decide_us;                          // of the last decisions
  stats::BucketCounts<kDecideBounds_s.size()> decide_s{kDecideBounds_s};
  std::deque<double> rewards;  // of the last outcomes
  std::deque<MonoTime> decided_at;

  void rewarded(double reward);
  std::optional<double> mean_reward() const;         // of the last outcomes
  std::uint64_t by(std::string_view decider) const;  // one of placement::kDeciders
};

}  // namespace wattle::controller
