#include "actuator/margin_student.hpp"

namespace wattle::actuator {

void MarginStudent::set(models::provision::Network network) {
  network_ = std::move(network);
  reported_not_finite_ = false;
}

// Must decide like sim/provision/steered for the same readings.
std::optional<double> MarginStudent::choose(const std::string& path, const models::provision::ServiceMinute& state,
                                            const MinuteOfRequests& ticks, std::vector<Error>& troubles) {
  if (!network_) return std::nullopt;
  IntegralRules rules;
  rules.aim_ratio = aim_ratio_;
  models::provision::Bounds bounds;
  bounds.memory = false;
  const auto next = models::provision::choose_locally(state, next_margin(rules, state.now.margin_ratio, ticks), bounds,
                                                      network_.get());
  if (next) return next->margin_ratio;
  if (!reported_not_finite_)
    troubles.push_back({Errc::out_of_range, "rules.student", "returned an invalid margin for " + path,
                        "train another student; throttling sets the margin meanwhile"});
  reported_not_finite_ = true;
  return std::nullopt;
}

}  // namespace wattle::actuator
