#include "placement/objective.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

namespace {

constexpr double kLeastLimit = 0.01, kOverDefault = 0.005;
constexpr double kLately_s = 300;     // what moves the price
constexpr double kMeasured_s = 3600;  // what is shown
constexpr double kUnderDefault_s = 86'400;
constexpr double kEnoughDefault_s = 600;                // before the default scheduler's waiting counts
constexpr double kStep_s = 600;                         // in which twice the budget raises the price e-fold
constexpr double kMostOver = 2;                         // times the budget beyond it, that a step counts
constexpr double kFall = 0.25;                          // of the rate at which it rises
constexpr double kLeastPrice = 0.01, kMostPrice = 100;  // times the watts per core
constexpr double kLongest_s = 60;                       // of one measurement: who was away measured nothing

// Mean that fades: of all there is while it is short, then of the last so many seconds.
void follow(double& mean, double& weight_s, double value, double dt_s, double memory_s) {
  weight_s = std::min(weight_s + dt_s, memory_s);
  mean += std::min(1.0, dt_s / weight_s) * (value - mean);
}

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

void Budget::set_limit(std::optional<double> ratio) {
  set_ = ratio && std::isfinite(*ratio) ? std::optional(std::clamp(*ratio, 1e-4, 1.0)) : std::nullopt;
}

double Budget::limit() const {
  if (set_) return *set_;
  const auto before = under_default();
  return std::min(1.0, std::max(kLeastLimit, before ? *before + kOverDefault : 0.0));
}

std::optional<double> Budget::measured() const { return acted_s_ > 0 ? std::optional(measured_) : std::nullopt; }

std::optional<double> Budget::under_default() const {
  return default_s_ >= kEnoughDefault_s ? std::optional(default_) : std::nullopt;
}

void Budget::measure(double ratio, double dt_s, bool acting, double core_w) {
  if (!std::isfinite(ratio) || ratio < 0 || !std::isfinite(dt_s) || dt_s < 0) return;
  const bool priced = std::isfinite(core_w) && core_w > 0;
  if (price_w_ == 0 && priced) price_w_ = core_w;
  dt_s = std::min(dt_s, kLongest_s);
  if (!(dt_s > 0)) return;
  ratio = std::min(ratio, 1.0);
  if (!acting) {
    follow(default_, default_s_, ratio, dt_s, kUnderDefault_s);
    return;
  }
  follow(measured_, acted_s_, ratio, dt_s, kMeasured_s);
  follow(lately_, lately_s_, ratio, dt_s, kLately_s);
  if (!priced) return;
  const double over = std::clamp(lately_ / limit() - 1, -1.0, kMostOver);
  price_w_ *= std::exp(over * (over > 0 ? 1.0 : kFall) * dt_s / kStep_s);
  price_w_ = std::clamp(price_w_, kLeastPrice * core_w, kMostPrice * core_w);
}

void Budget::pack(PackWriter& out) const {
  for (const double value : {price_w_, measured_, acted_s_, lately_, lately_s_, default_, default_s_}) out.real(value);
}

void Budget::unpack(PackReader& in) {
  Budget read;
  read.set_ = set_;
  for (double* value : {&read.price_w_, &read.measured_, &read.acted_s_, &read.lately_, &read.lately_s_, &read.default_,
                        &read.default_s_}) {
    *value = in.real();
    if (*value < 0) in.refuse();
  }
  if (in.ok()) *this = read;
}

}  // namespace wattle::placement
