#include "provision/savings/doubt.hpp"

#include <algorithm>
#include <cmath>

#include "common/stats/distributions.hpp"
#include "common/stats/quantile.hpp"

namespace wattle::placement {

namespace {
constexpr std::size_t kDayHours = 24, kQuantiles = 40;  // of each part
constexpr double kLow = 0.025, kHigh = 0.975;

double share_at(std::size_t quantile) { return (static_cast<double>(quantile) + 0.5) / kQuantiles; }
}  // namespace

std::vector<double> day_errors(std::span<const double> hourly) {
  std::vector<double> known, errors;
  std::copy_if(hourly.begin(), hourly.end(), std::back_inserter(known),
               [](double each) { return std::isfinite(each); });
  if (known.size() < kLeastHours) return {};
  for (std::size_t at = 0; at + kDayHours < known.size(); ++at) {
    double sum = 0;
    for (std::size_t hour = at + 1; hour <= at + kDayHours; ++hour) sum += known[hour];
    errors.push_back(sum / kDayHours - known[at]);
  }
  return errors;
}

Doubt Growth::of_changes(double saved_w, std::vector<double> models_w) const {
  double largest_w = std::abs(saved_w);
  for (const double each : models_w) largest_w = std::max(largest_w, std::abs(each));
  Doubt doubt{std::move(models_w), curve_sd_ratio, node_w, day_errors(hourly_pods),
              -std::numeric_limits<double>::infinity()};
  for (double& each : doubt.days_w) each *= largest_w / std::max(1.0, movable_pods);
  return doubt;
}

Doubt Growth::of_empty(std::vector<double> models_w, double used_w, double most_w) const {
  Doubt doubt{std::move(models_w), curve_sd_ratio, node_w, day_errors(hourly_pods), 0, most_w};
  for (double& each : doubt.days_w) each *= -used_w / std::max(1.0, movable_pods);
  return doubt;
}

std::optional<stats::Interval> interval_of(double saved_w, const Doubt& doubt) {
  if (doubt.days_w.empty() || !std::isfinite(saved_w)) return std::nullopt;
  std::vector<double> models = doubt.models_w;
  std::erase_if(models, [](double each) { return !std::isfinite(each); });
  models.push_back(saved_w);
  std::vector<double> days = doubt.days_w;
  std::sort(days.begin(), days.end());
  const auto [least, most] = std::minmax_element(models.begin(), models.end());
  const auto bound = [&](double model_w, double share) {
    std::vector<double> likely;
    for (std::size_t k = 0; k < kQuantiles; ++k)
      for (std::size_t day = 0; day < kQuantiles; ++day)
        for (const double nodes : {-1.0, 0.0, 1.0})
          likely.push_back(model_w * (1 + doubt.curve_sd_ratio * stats::normal_quantile(share_at(k))) +
                           *stats::quantile_of_sorted(days, share_at(day)) + nodes * doubt.node_w);
    return std::clamp(*stats::quantile(std::move(likely), share), doubt.least_w, std::max(doubt.least_w, doubt.most_w));
  };
  return stats::Interval{saved_w, std::min(saved_w, bound(*least, kLow)), std::max(saved_w, bound(*most, kHigh))};
}

}  // namespace wattle::placement
