// rivals: would the planner, or the amortised rank, have placed recent pods better than the ranking in force?
// Sample   a recent decision, ranked by all of them on the same view; what became of it, when that is known
// Estimate per decision: what models predict of the chosen node, and for choices that are where the pod really went, the mean
//          of (reward - predicted) over such decisions, once there are kLeastMatched of them on either side. The difference
//          is of means over decisions; its error adds the variances of the three means
// Verdict  worse: below the rival by more than 1.64 errors, over at least kLeastSamples. Fewer say nothing
// Errors   none
// Threads  single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace wattle::controller {

inline constexpr std::array<std::string_view, 2> kRivals{"planner", "amortised"};

struct RankedChoice {
  std::string node;
  double predicted = 0;  // reward, by models alone
};

struct RivalSample {
  std::uint64_t decision_id = 0;
  RankedChoice own;
  std::array<RankedChoice, kRivals.size()> rivals;
  // Once it is known.
  std::string placed_on;
  double reward = 0, predicted_there = 0;
};

struct RivalEstimate {
  std::string_view rival;
  std::size_t samples = 0, differ = 0;  // decisions in which it would have chosen another node
  std::size_t matched_own = 0, matched_rival = 0;
  double difference = 0;  // of the ranking in force less the rival's, reward per decision
  double error = 0;
  bool worse() const;
};

class Rivals {
 public:
  static constexpr std::size_t kKept = 1000, kLeastSamples = 30, kLeastMatched = 20;

  void add(RivalSample sample);
  // Where the pod of a sample went and what it was worth.
  void judged(std::uint64_t decision_id, const std::string& node, double reward);
  // Another ranking, network or reward: what was seen says nothing about it.
  void begin_anew() { samples_.clear(); }
  std::array<RivalEstimate, kRivals.size()> estimates() const;
  // Why the ranking should not act; empty: nothing says so.
  std::string harm() const;

 private:
  std::deque<RivalSample> samples_;
};

}  // namespace wattle::controller
