#include "controller/modes/rivals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/stats/distributions.hpp"
#include "common/stats/moments.hpp"

namespace wattle::controller {

namespace {

std::string shown(double value) {
  const double rounded = std::round(value * 1000) / 1000;
  std::string text = std::to_string(rounded);
  return text.substr(0, text.find('.') + 4);
}

}  // namespace

bool RivalEstimate::worse() const {
  return samples >= Rivals::kLeastSamples && difference < 0 && -difference > stats::kNormal95 * error;
}

void Rivals::add(RivalSample sample) {
  samples_.push_back(std::move(sample));
  if (samples_.size() > kKept) samples_.pop_front();
}

void Rivals::judged(std::uint64_t decision_id, const std::string& node, double reward) {
  for (RivalSample& sample : samples_) {
    if (sample.decision_id != decision_id) continue;
    // Only what one of them would have chosen tells anything of them.
    const RankedChoice* there = sample.own.node == node ? &sample.own : nullptr;
    for (const RankedChoice& rival : sample.rivals)
      if (there == nullptr && rival.node == node) there = &rival;
    if (there == nullptr) return;
    sample.placed_on = node;
    sample.reward = reward;
    sample.predicted_there = there->predicted;
    return;
  }
}

std::array<RivalEstimate, kRivals.size()> Rivals::estimates() const {
  std::array<RivalEstimate, kRivals.size()> all;
  for (std::size_t k = 0; k < all.size(); ++k) {
    RivalEstimate& one = all[k];
    one.rival = kRivals[k];
    stats::Moments predicted, own, rivals;
    for (const RivalSample& sample : samples_) {
      const RankedChoice& rival = sample.rivals[k];
      ++one.samples;
      const bool differ = rival.node != sample.own.node;
      predicted.add(differ ? sample.own.predicted - rival.predicted : 0.0);
      if (!differ) continue;
      ++one.differ;
      if (sample.placed_on.empty()) continue;
      if (sample.placed_on == sample.own.node) own.add(sample.reward - sample.predicted_there);
      if (sample.placed_on == rival.node) rivals.add(sample.reward - sample.predicted_there);
    }
    one.matched_own = own.count();
    one.matched_rival = rivals.count();
    one.difference = predicted.mean();
    double variance = predicted.variance_of_mean();
    if (own.count() >= kLeastMatched && rivals.count() >= kLeastMatched) {
      const double share = static_cast<double>(one.differ) / static_cast<double>(one.samples);
      one.difference += share * (own.mean() - rivals.mean());
      variance += share * share * (own.variance_of_mean() + rivals.variance_of_mean());
    }
    one.error = std::sqrt(variance);
  }
  return all;
}

std::string Rivals::harm() const {
  std::string text;
  for (const RivalEstimate& one : estimates()) {
    if (!one.worse()) continue;
    const bool judged = one.matched_own >= kLeastMatched && one.matched_rival >= kLeastMatched;
    text += (text.empty() ? "" : "; ") + std::string("worse than ") + std::string(one.rival) + " by " +
            shown(-one.difference) + " +- " + shown(one.error) + " reward a decision (" +
            (judged ? "models and outcomes" : "models alone") + "): of the last " + std::to_string(one.samples) +
            " compared, " + std::to_string(one.differ) + " would have gone elsewhere";
  }
  return text;
}

}  // namespace wattle::controller
