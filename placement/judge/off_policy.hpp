// off_policy: estimates whether the planner or the amortised rank would have placed recent pods better than the ranking
// in use.
// Sample   a recent decision, ranked by all of them on the same view, and its outcome once known
// Estimate per decision: the models' prediction for the chosen node, plus the mean of (reward - predicted) over the
// decisions whose choice is where the pod really went, once there are kLeastMatched on either side. The difference is
// of means over decisions; its error adds the variances of the three means
// Verdict  worse: below the reference by more than 1.64 errors, over at least kLeastSamples. Fewer samples give no
//          verdict
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
  double predicted = 0;  // reward, predicted by the models alone
};

struct ComparedDecision {
  std::uint64_t decision_id = 0;
  RankedChoice own;
  std::array<RankedChoice, kReferencePolicies.size()> references;
  // Set once the outcome is known.
  std::string placed_on;
  double reward = 0, predicted_there = 0;
};

struct OffPolicyEstimate {
  std::string_view reference;
  std::size_t samples = 0, differ = 0;  // decisions in which the reference would have chosen another node
  std::size_t matched_own = 0, matched_reference = 0;
  double difference = 0;  // the ranking in use minus the reference, reward per decision
  double error = 0;
  bool worse() const;
  bool told() const;  // has enough samples for a verdict
  // Reward per decision that the reference would have added; below 0: it would have been worse.
  double regret() const { return -difference; }
  double half_width() const;  // half width of the 95% interval, of either
  double differ_ratio() const { return samples > 0 ? static_cast<double>(differ) / static_cast<double>(samples) : 0; }
  // Mean advantage over the reference in the decisions that differ, with half of its interval. No value if there are
  // too few samples or none differs.
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

  // Ignores a sample whose prediction is not finite.
  void add(ComparedDecision sample);
  // Records where the pod of a sample went and its reward.
  void judged(std::uint64_t decision_id, const std::string& node, double reward);
  // Drops all samples. Call after a change of ranking, network or reward, because old samples do not apply to it.
  void begin_anew() { samples_.clear(); }
  std::array<OffPolicyEstimate, kReferencePolicies.size()> estimates() const;
  // Returns why the ranking should not act; empty if there is no evidence against it.
  std::string harm() const;

  // Samples to keep over a restart. Their decisions have other numbers afterwards, so they wait for no outcome.
  const std::deque<ComparedDecision>& samples() const { return samples_; }
  void restore(std::vector<ComparedDecision> samples);

 private:
  std::deque<ComparedDecision> samples_;
};

}  // namespace wattle::placement
