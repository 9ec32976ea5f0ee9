#include "controller/decisions/decider_figures.hpp"

#include <numeric>

namespace wattle::controller {

std::optional<double> DeciderFigures::mean_reward() const {
  if (rewards.empty()) return std::nullopt;
  return std::accumulate(rewards.begin(), rewards.end(), 0.0) / static_cast<double>(rewards.size());
}

void DeciderFigures::rewarded(double reward) {
  constexpr std::size_t kKept = 100;
  rewards.push_back(reward);
  if (rewards.size() > kKept) rewards.pop_front();
}

std::uint64_t DeciderFigures::by(std::string_view decider) const {
  const auto found = decided_by.find(decider);
  return found == decided_by.end() ? 0 : found->second;
}

}  // namespace wattle::controller
