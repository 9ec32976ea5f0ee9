// off_policy: would the planner, or the amortised rank, have placed recent pods better than the ranking in force?
// Sample   a recent decision, ranked by all of them on the same view; what became of it, when that is known
// Estimate per decision: what models predict of the chosen node, and for choices that are where the pod really went, the mean
//          of (reward - predicted) over such decisions, once there are kLeastMatched of them on either side. The difference
//          is of means over decisions; its error adds the variances of the three means
// Verdict  worse: below the reference by more than 1.64 errors, over at least kLeastSamples. Fewer say nothing
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
#include <vector>

namespace wattle::placement {

inline constexpr std::array<std::string_view, 2> kReferencePolicies{"planner", "amortised"};

struct RankedChoice {
  std::string node;
  double predicted = 0;  // reward, by models alone
};

struct ComparedDecision {
  std::uint64_t decision_id = 0;
  RankedChoice own;
  std::array<RankedChoice, kReferencePolicies.size()> references;
  // Once it is known.
  std::string placed_on;
  double reward = 0, predicted_there = 0;
};

struct OffPolicyEstimate {
  std::string_view reference;
  std::size_t samples = 0, differ = 0;  // decisions in which it would have chosen another node
  std::size_t matched_own = 0, matched_reference = 0;
  double difference = 0;  // of the ranking in force less the reference's, reward per decision
  double error = 0;
  bool worse() const;
  bool told() const;  // of enough decisions to say anything
  // Reward a decision that the reference would have brought beyond the ranking in force; below 0: it would have brought less.
  double regret() const { return -difference; }
  double half_width() const;  // of 95%, of either
  double differ_ratio() const { return samples > 0 ? static_cast<double>(differ) / static_cast<double>(samples) : 0; }
  // What a decision that differs was worth beyond the reference's, and half of its interval; absent: nothing can be said, or none differs.
  struct Worth {
    double mean = 0, half_width = 0;
    double low() const { return mean - half_width; }
    double high() const { return mean + half_width; }
  };
  std::optional<Worth> differing_worth() const;
};

class OffPolicyComparison {
 public:
  static constexpr std::size_t kKept = 1000, kLeastSamples = 30, kLeastMatched = 20;

  // What models predict as no number is not taken.
  void add(ComparedDecision sample);
  // Where the pod of a sample went and what it was worth.
  void judged(std::uint64_t decision_id, const std::string& node, double reward);
  // Another ranking, network or reward: what was seen says nothing about it.
  void begin_anew() { samples_.clear(); }
  std::array<OffPolicyEstimate, kReferencePolicies.size()> estimates() const;
  // Why the ranking should not act; empty: nothing says so.
  std::string harm() const;

  // What a restart must not forget; its decisions have other numbers then, so that no outcome is waited for.
  const std::deque<ComparedDecision>& samples() const { return samples_; }
  void restore(std::vector<ComparedDecision> samples);

 private:
  std::deque<ComparedDecision> samples_;
};

}  // namespace wattle::placement
