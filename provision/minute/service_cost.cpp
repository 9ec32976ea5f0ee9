#include "provision/minute/service_cost.hpp"

#include <algorithm>

namespace wattle::models::provision {

namespace {

constexpr double kLately = 0.05, kOverLately = 0.1;  // weight of the newest minute
constexpr double kWorkShare = 0.01;
constexpr double kLeastScaleCores = 0.02;

double ratio_of(double a, double b, double otherwise) { return b > 0 ? a / b : otherwise; }

}  // namespace

MinuteCost ServiceCost::add(const CostedMinute& minute, const Price& price, ServiceMinute& state) {
  const auto count = static_cast<double>(minute.requests);
  const double share = ratio_of(static_cast<double>(minute.over), count, 0);
  over_lately_ += kOverLately * (share - over_lately_);
  state.latency = Latency{share, minute.p99_over_target, over_lately_};

  lately_cores_ += lately_cores_ > 0 ? kLately * (minute.used_cores - lately_cores_) : minute.used_cores;
  const double scale_w = price.core_w * std::max(lately_cores_, kLeastScaleCores);
  const double memory_w = minute.memory_gib ? price.memory_w_per_gib * *minute.memory_gib : 0;
  MinuteCost reported;
  reported.cost = (price.core_w * minute.granted_cores + memory_w) / scale_w + price_of_over(price, share);
  state.memory_share = memory_w / scale_w;
  minutes_ += 1;
  if (minute.requests > 0)
    used_s_per_request_ += std::max(kWorkShare, 1 / minutes_) * (minute.used_s / count - used_s_per_request_);
  reported.need = price.core_w * minute.rate_rps * used_s_per_request_ / scale_w;
  return reported;
}

Rate rate_of(double rate_rps, double last_rps, double expected_rps, double expected_high_rps) {
  return {ratio_of(rate_rps, last_rps, 1), ratio_of(expected_rps, rate_rps, 1),
          ratio_of(expected_high_rps - expected_rps, expected_rps, 0)};
}

}  // namespace wattle::models::provision
