#include "placement/judge/off_policy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/stats/distributions.hpp"
#include "common/stats/moments.hpp"

namespace wattle::placement {

namespace {

std::string shown(double value) {
  const double rounded = std::round(value * 1000) / 1000;
  std::string text = std::to_string(rounded);
  return text.substr(0, text.find('.') + 4);
}

}  // namespace

bool OffPolicyEstimate::told() const { return samples >= OffPolicyComparison::kLeastSamples; }

double OffPolicyEstimate::half_width() const { return stats::kNormal975 * error; }

std::optional<OffPolicyEstimate::Worth> OffPolicyEstimate::differing_worth() const {
  if (!told() || differ == 0) return std::nullopt;
  return Worth{difference / differ_ratio(), half_width() / differ_ratio()};
}

bool OffPolicyEstimate::worse() const { return told() && difference < 0 && -difference > stats::kNormal95 * error; }

void OffPolicyComparison::restore(std::vector<ComparedDecision> samples) {
  samples_.clear();
  for (ComparedDecision& sample : samples) {
    sample.decision_id = 0;
    add(std::move(sample));
  }
}

void OffPolicyComparison::add(ComparedDecision sample) {
  bool finite = std::isfinite(sample.own.predicted);
  for (const RankedChoice& reference : sample.references) finite = finite && std::isfinite(reference.predicted);
  if (!finite) return;
  samples_.push_back(std::move(sample));
  if (samples_.size() > kKept) samples_.pop_front();
}

void OffPolicyComparison::judged(std::uint64_t decision_id, const std::string& node, double reward) {
  if (!std::isfinite(reward)) return;
  for (ComparedDecision& sample : samples_) {
    if (sample.decision_id != decision_id || !sample.placed_on.empty()) continue;
    // Only nodes that one of the rankings would have chosen are informative.
    const RankedChoice* there = sample.own.node == node ? &sample.own : nullptr;
    for (const RankedChoice& reference : sample.references)
      if (there == nullptr && reference.node == node) there = &reference;
    if (there == nullptr) return;
    sample.placed_on = node;
    sample.reward = reward;
    sample.predicted_there = there->predicted;
    return;
  }
}

std::array<OffPolicyEstimate, kReferencePolicies.size()> OffPolicyComparison::estimates() const {
  std::array<OffPolicyEstimate, kReferencePolicies.size()> all;
  for (std::size_t k = 0; k < all.size(); ++k) {
    OffPolicyEstimate& one = all[k];
    one.reference = kReferencePolicies[k];
    stats::Moments predicted, own, references;
    for (const ComparedDecision& sample : samples_) {
      const RankedChoice& reference = sample.references[k];
      ++one.samples;
      const bool differ = reference.node != sample.own.node;
      predicted.add(differ ? sample.own.predicted - reference.predicted : 0.0);
      if (!differ) continue;
      ++one.differ;
      if (sample.placed_on.empty()) continue;
      if (sample.placed_on == sample.own.node) own.add(sample.reward - sample.predicted_there);
      if (sample.placed_on == reference.node) references.add(sample.reward - sample.predicted_there);
    }
    one.matched_own = own.count();
    one.matched_reference = references.count();
    one.difference = predicted.mean();
    double variance = predicted.variance_of_mean();
    if (own.count() >= kLeastMatched && references.count() >= kLeastMatched) {
      const double share = static_cast<double>(one.differ) / static_cast<double>(one.samples);
      one.difference += share * (own.mean() - references.mean());
      variance += share * share * (own.variance_of_mean() + references.variance_of_mean());
    }
    one.error = std::sqrt(variance);
  }
  return all;
}

std::string OffPolicyComparison::harm() const {
  std::string text;
  for (const OffPolicyEstimate& one : estimates()) {
    if (!one.worse()) continue;
    const bool judged = one.matched_own >= kLeastMatched && one.matched_reference >= kLeastMatched;
    text += (text.empty() ? "" : "; ") + std::string("worse than ") + std::string(one.reference) + " by " +
            shown(-one.difference) + " +- " + shown(one.error) + " reward per decision (" +
            (judged ? "models and outcomes" : "models only") + "): of the last " + std::to_string(one.samples) +
            " compared decisions, " + std::to_string(one.differ) + " differ";
  }
  return text;
}

}  // namespace wattle::placement
