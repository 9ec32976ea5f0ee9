#include "placement/objective.hpp"

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
constexpr double kFall = 0.25;     // rate of falling over that of rising
constexpr double kLongest_s = 60;  // limit of one measurement, because nothing was measured during a gap
constexpr double kLeastPaidLife_s = 1;

}  // namespace

double node_cost_w(const FleetNode& node, double used_cores, double variance, double cpu_wait_price_w) {
  const double watts = node.watts_at(used_cores);
  if (!(cpu_wait_price_w > 0)) return watts;
  return watts + cpu_wait_price_w * node.waiting.waiting_cores(used_cores, variance, node.allocatable.cpu_cores);
}

double added_wait_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  if (!(fleet.cpu_wait_price_w > 0)) return 0;
  const FleetNode& node = fleet.nodes[i];
  const double cores = node.allocatable.cpu_cores;
  const double before_cores = node.used_cores + node.unsure_cores;
  const double after = node.waiting.waiting_cores(before_cores + ask.demand_cores + ask.unsure_cores,
                                                  node.used_cores2 + ask.demand_cores2, cores);
  if (!(after > 0)) return 0;
  return fleet.cpu_wait_price_w *
         std::max(0.0, after - node.waiting.waiting_cores(before_cores, node.used_cores2, cores));
}

double added_cost_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  return added_w(fleet, i, ask) + added_wait_w(fleet, i, ask);
}

double amortised_cost_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  return amortised_w(fleet.nodes[i], ask) + added_wait_w(fleet, i, ask);
}

void price_waiting(const RewardConfig& config, const ClusterView& view, const Fleet& fleet,
                   std::span<const std::size_t> rows, const PodSpec& pod, const PodEstimate& ask,
                   std::span<Prediction> predictions) {
  if (!(fleet.cpu_wait_price_w > 0)) return;
  for (std::size_t row = 0; row < rows.size(); ++row)
    predictions[row].amortised_w += added_wait_w(fleet, rows[row], ask);
  judge(config, view, rows, pod, predictions);
}

void price_latency(double latency_price, std::span<Prediction> predictions) {
  if (!(latency_price > 1)) return;
  for (Prediction& prediction : predictions) prediction.latency_price = latency_price;
}

double latency_price_w(const RewardConfig& config, double life_s) {
  const RewardWeights& weights = config.weights;
  if (config.preset != Preset::weighted || !(weights.latency > 0) || !(weights.energy > 0)) return 0;
  const double horizon_s = std::max(config.horizon_s, kLeastPaidLife_s);
  const double paid_s = std::isfinite(life_s) ? std::clamp(life_s, kLeastPaidLife_s, horizon_s) : horizon_s;
  return weights.latency / weights.energy * std::max(config.reference_w, 1e-3) * 3600 / paid_s;
}

void Budget::set_limit(std::optional<double> ratio) {
  set_ = ratio && std::isfinite(*ratio) ? std::optional(std::clamp(*ratio, 1e-4, 1.0)) : std::nullopt;
}

double Budget::limit() const {
  if (set_) return *set_;
  const auto before = under_default();
  return std::min(1.0, std::max(kLeastLimit, before ? *before + kOverDefault : 0.0));
}

void PodTimeShare::add(double waiting_pods, double pods, double dt_s, double memory_s) {
  if (pods_ == 0 && seconds_ > 0) {
    pods_ = pods;
    waiting_pods_ *= pods;
  }
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

PodTimeShare PodTimeShare::of(double ratio, double seconds) {
  PodTimeShare share;
  share.waiting_pods_ = ratio;
  share.seconds_ = seconds;
  return share;
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
  told_ = false;
  if (!std::isfinite(waiting_pods) || waiting_pods < 0 || !std::isfinite(pods) || !(pods > 0) || !std::isfinite(dt_s) ||
      dt_s < 0)
    return;
  const bool priced = std::isfinite(unit) && unit > 0;
  if (price_ == 0 && priced) price_ = unit;
  dt_s = std::min(dt_s, kLongest_s);
  if (!(dt_s > 0)) return;
  told_ = true;
  waiting_pods = std::min(waiting_pods, pods);
  if (!acting) {
    default_.add(waiting_pods, pods, dt_s, kUnderDefault_s);
    return;
  }
  measured_.add(waiting_pods, pods, dt_s, kMeasured_s);
  lately_.add(waiting_pods, pods, dt_s, kLately_s);
  if (!priced) return;
  if (!in_force()) {
    price_ = rule_.least * unit;
    return;
  }
  // Counted in points: an eighth above a budget of 8% is as many waiting pods as twice a budget of 1%; corrected as
  // fast.
  const double over = std::clamp((lately_.ratio() - limit()) / std::min(limit(), kLeastLimit), -1.0, kMostOver);
  price_ *= std::exp(over * (over > 0 ? 1.0 : kFall) * dt_s / kStep_s);
  price_ = std::clamp(price_, rule_.least * unit, rule_.most * unit);
}

void Budget::pack(PackWriter& out) const {
  out.real(price_);
  for (const PodTimeShare* share : {&measured_, &lately_, &default_}) share->pack(out);
}

void Budget::unpack(PackReader& in, bool by_time) {
  Budget read(rule_);
  read.set_ = set_;
  read.price_ = in.real();
  if (read.price_ < 0) in.refuse();
  for (PodTimeShare* share : {&read.measured_, &read.lately_, &read.default_}) {
    if (!by_time) {
      *share = PodTimeShare::unpack(in);
      continue;
    }
    const double ratio = in.real(), seconds = in.real();
    if (ratio < 0 || seconds < 0) in.refuse();
    *share = PodTimeShare::of(ratio, seconds);
  }
  if (in.ok()) *this = read;
}

}  // namespace wattle::placement
