#include "placement/cluster/budget.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {
namespace {

constexpr double kLeastLimit = 0.01, kOverDefault = 0.005;
constexpr double kLately_s = 300;     // moves the price
constexpr double kMeasured_s = 3600;  // for display
constexpr double kUnderDefault_s = 86'400;
constexpr double kEnoughDefault_s = 600;  // needed before the default scheduler's waiting counts
// For one point above the limit (or twice a budget below one point) the price rises e-fold in this time.
constexpr double kStep_s = 600;
constexpr double kMostOver = 2;    // limit of one step, in points or such budgets
constexpr double kFall = 0.25;     // rate of falling relative to that of rising
constexpr double kLongest_s = 60;  // limit of one measurement, because nothing was measured during a gap

}  // namespace

void Budget::set_limit(std::optional<double> ratio) {
  set_ = ratio && std::isfinite(*ratio) ? std::optional(std::clamp(*ratio, 1e-4, 1.0)) : std::nullopt;
}

double Budget::limit() const {
  if (set_) return *set_;
  const auto before = under_default();
  return std::min(1.0, std::max(kLeastLimit, before ? *before + kOverDefault : 0.0));
}

void PodTimeShare::add(double waiting_pods, double pods, double dt_s, double memory_s) {
  seconds_ = std::min(seconds_ + dt_s, memory_s);
  const double part = std::min(1.0, dt_s / seconds_);
  waiting_pods_ += part * (waiting_pods - waiting_pods_);
  pods_ += part * (pods - pods_);
}

void PodTimeShare::pack(PackWriter& out) const {
  for (const double value : {waiting_pods_, pods_, seconds_}) out.real(value);
}

PodTimeShare PodTimeShare::unpack(PackReader& in) {
  PodTimeShare read;
  for (double* value : {&read.waiting_pods_, &read.pods_, &read.seconds_}) {
    *value = in.real();
    if (*value < 0) in.refuse();
  }
  return read;
}

std::optional<double> Budget::measured() const {
  return measured_.seconds() > 0 ? std::optional(measured_.ratio()) : std::nullopt;
}

std::optional<double> Budget::used_ratio() const {
  const auto measured = this->measured();
  return in_force() && measured ? std::optional(*measured / limit()) : std::nullopt;
}

std::optional<double> Budget::under_default() const {
  return default_.seconds() >= kEnoughDefault_s ? std::optional(default_.ratio()) : std::nullopt;
}

void Budget::measure(double waiting_pods, double pods, double dt_s, bool acting, double unit) {
  reported_ = false;
  if (!std::isfinite(waiting_pods) || waiting_pods < 0 || !std::isfinite(pods) || !(pods > 0) || !std::isfinite(dt_s) ||
      dt_s < 0)
    return;
  const bool priced = std::isfinite(unit) && unit > 0;
  if (price_ == 0 && priced) price_ = unit;
  dt_s = std::min(dt_s, kLongest_s);
  if (!(dt_s > 0)) return;
  reported_ = true;
  waiting_pods = std::min(waiting_pods, pods);
  if (!acting) {
    default_.add(waiting_pods, pods, dt_s, kUnderDefault_s);
    return;
  }
  measured_.add(waiting_pods, pods, dt_s, kMeasured_s);
  recent_.add(waiting_pods, pods, dt_s, kLately_s);
  if (!priced) return;
  if (!in_force()) {
    price_ = rule_.least * unit;
    return;
  }
  // Counted in points: an eighth above a budget of 8% is as many waiting pods as twice a budget of 1%, and is corrected
  // as fast.
  const double over = std::clamp((recent_.ratio() - limit()) / std::min(limit(), kLeastLimit), -1.0, kMostOver);
  price_ *= std::exp(over * (over > 0 ? 1.0 : kFall) * dt_s / kStep_s);
  response_.add(waiting_pods / pods, limit(), price_ / unit, dt_s);
  const double most = rule_.by_response ? std::min(rule_.most, response_.highest()) : rule_.most;
  price_ = std::clamp(price_, rule_.least * unit, most * unit);
}

void Budget::pack(PackWriter& out) const {
  out.real(price_);
  for (const PodTimeShare* share : {&measured_, &recent_, &default_}) share->pack(out);
}

void Budget::unpack(PackReader& in) {
  Budget read(rule_);
  read.set_ = set_;
  read.price_ = in.real();
  if (read.price_ < 0) in.refuse();
  for (PodTimeShare* share : {&read.measured_, &read.recent_, &read.default_}) *share = PodTimeShare::unpack(in);
  if (in.ok()) *this = read;
}

}  // namespace wattle::placement
