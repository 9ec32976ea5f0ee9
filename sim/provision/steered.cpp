#include "sim/provision/steered.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::sim::provision {

namespace {

using models::provision::Setting;
using models::provision::Sight;

constexpr double kSteeredMargin = 0.3;
constexpr std::size_t kPeakMinutes = 10;
constexpr double kLately = 0.05, kOverLately = 0.1;  // shares of a newer minute
constexpr double kWorkShare = 0.01;
constexpr double kLeastScaleCores = 0.02;

double over(double a, double b, double otherwise) { return b > 0 ? a / b : otherwise; }

}  // namespace

Steered::Steered(const WorldOptions& world, const SteerOptions& options, Steering& steering)
    : options_(options), services_(world.services), memory_(world.memory_gib > 0), steering_(&steering) {
  actuator::StudentRules rules;
  rules.most_cores = world.cores;
  students_.assign(world.services * world.most_replicas, actuator::Student(rules));
  options_.bounds.least_replicas = world.replicas;
  options_.bounds.most_replicas = world.most_replicas;
  options_.bounds.memory = memory_;
  Steer first;
  first.setting.margin_ratio = kSteeredMargin;
  first.setting.replicas = world.replicas;
  steers_.assign(services_, first);
  shapes_.assign(services_, {world.replicas, std::nullopt});
}

void Steered::watch(const Reading& reading) {
  for (std::size_t i = 0; i < services_; ++i) {
    Minute& minute = steers_[i].minute;
    double used_s = 0;
    for (std::size_t place = i; place < reading.services.size(); place += services_) {
      const ServiceReading& replica = reading.services[place];
      used_s += replica.used_s;
      minute.granted_s += replica.granted_s;
      if (!replica.active) continue;
      minute.ticks += 1;
      minute.throttled += replica.throttled_periods > 0 ? 1 : 0;
      minute.missed += replica.missed_ratio;
      minute.working_gib = std::max(minute.working_gib, replica.working_gib);
      minute.memory_gib += shapes_[i].memory_gib.value_or(replica.working_gib);
    }
    minute.used_s += used_s;
    minute.seconds += reading.elapsed_s;
    minute.second_used_s += used_s;
    minute.second_s += reading.elapsed_s;
    if (minute.second_s < 0.95) continue;
    const double cores = minute.second_used_s / minute.second_s;
    minute.peak_cores = std::max(minute.peak_cores, cores);
    minute.sum_cores += cores;
    minute.sum_squares += cores * cores;
    minute.count += 1;
    minute.second_used_s = minute.second_s = 0;
  }
}

MinuteOfService Steered::seen_of(Steer& service, const Reading& reading) const {
  const Minute& minute = service.minute;
  const MinuteReading& requests = *reading.minute;
  const double used = minute.used_s / minute.seconds, granted = minute.granted_s / minute.seconds;
  const auto replicas = static_cast<double>(service.setting.replicas);
  MinuteOfService seen;
  seen.bounds = options_.bounds;
  Sight& sight = seen.sight;
  sight.now = service.setting;
  sight.throttled_ratio = over(minute.throttled, minute.ticks, 0);
  sight.used_over_granted = over(used, granted, 1);
  sight.used_over_node = used / (reading.cores * replicas);
  const double mean = over(minute.sum_cores, minute.count, 0);
  const double variance = std::max(0.0, over(minute.sum_squares, minute.count, 0) - mean * mean);
  sight.deviation_ratio = over(std::sqrt(variance), mean, 0);
  sight.peak_ratio = over(minute.peak_cores, mean, 1);
  sight.used_over_last = over(used, service.last_used_cores, 1);
  sight.missed_ratio = over(minute.missed, minute.ticks, 0);

  const double share = over(static_cast<double>(requests.over), static_cast<double>(requests.count), 0);
  service.over_lately += kOverLately * (share - service.over_lately);
  sight.latency = models::provision::Latency{share, requests.p99_s / reading.target_s, service.over_lately};
  if (const auto next = forecast_.next())
    sight.rate =
        models::provision::Rate{over(requests.rate_rps, last_rps_, 1), over(next->rate_rps, requests.rate_rps, 1),
                                over(next->high_rps - next->rate_rps, next->rate_rps, 0)};
  sight.day_ratio = std::fmod(reading.now_s, 86'400) / 86'400;
  sight.rule_margin_ratio =
      actuator::next_margin(options_.rule, sight.now.margin_ratio, {requests.count, requests.over});
  actuator::IntegralRules by_throttling = options_.rule;
  by_throttling.aim_ratio = options_.throttled_aim_ratio;
  seen.local_rule_margin =
      actuator::next_margin(by_throttling, sight.now.margin_ratio,
                            {static_cast<std::uint64_t>(minute.ticks), static_cast<std::uint64_t>(minute.throttled)});

  const models::provision::Price& price = options_.price;
  service.lately_cores += service.lately_cores > 0 ? kLately * (used - service.lately_cores) : used;
  const double scale_w = price.core_w * std::max(service.lately_cores, kLeastScaleCores);
  const double memory_w = memory_ ? price.memory_w_per_gib * over(minute.memory_gib, minute.ticks, 0) * replicas : 0;
  seen.cost = (price.core_w * granted + memory_w) / scale_w + models::provision::price_of_over(price, share);
  sight.memory_share = memory_w / scale_w;
  service.minutes += 1;
  if (requests.count > 0)
    service.used_s_per_request += std::max(kWorkShare, 1 / service.minutes) *
                                  (minute.used_s / static_cast<double>(requests.count) - service.used_s_per_request);
  seen.need = price.core_w * requests.rate_rps * service.used_s_per_request / scale_w;

  if (memory_) {
    service.working_gib.push_back(minute.working_gib);
    if (service.working_gib.size() > kPeakMinutes) service.working_gib.pop_front();
    const double peak = *std::max_element(service.working_gib.begin(), service.working_gib.end());
    sight.working_over_peak = over(minute.working_gib, peak, 1);
  }
  service.last_used_cores = used;
  return seen;
}

void Steered::steer(const Reading& reading) {
  forecast_.add(reading.minute->rate_rps, reading.now_s);
  for (std::size_t i = 0; i < services_; ++i) {
    Steer& service = steers_[i];
    const MinuteOfService seen = seen_of(service, reading);
    service.setting = steering_->minute(i, seen);
    service.minute = {};
    shapes_[i].replicas = service.setting.replicas;
    if (service.working_gib.size() == kPeakMinutes)
      shapes_[i].memory_gib = (1 + service.setting.memory_ratio) *
                              *std::max_element(service.working_gib.begin(), service.working_gib.end());
  }
  last_rps_ = reading.minute->rate_rps;
}

void Steered::tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) {
  watch(reading);
  if (reading.minute != nullptr) steer(reading);
  for (std::size_t place = 0; place < students_.size(); ++place) {
    const ServiceReading& replica = reading.services[place];
    if (!replica.active) continue;
    const auto wish = students_[place].observe({reading.elapsed_s, replica.used_s, replica.throttled_periods > 0},
                                               steers_[place % services_].setting.margin_ratio);
    if (!wish) continue;
    // Each replica has a node of its own here; nothing else runs on it.
    actuator::Wish allowed = *wish;
    const double idle_ratio = 1 - replica.used_s / (reading.elapsed_s * reading.cores);
    actuator::bound_boosts({&allowed, 1}, actuator::headroom_cores(reading.cores, idle_ratio, 0));
    next[place] = students_[place].decide(allowed, replica.set);
  }
}

RunCost cost_of(const Figures& figures, const models::provision::Price& price) {
  const double used_w = price.core_w * std::max(figures.used_cores, 1e-9);
  const double power = (price.core_w * figures.granted_cores + price.memory_w_per_gib * figures.memory_gib) / used_w;
  const double late = over(figures.requests_excess, static_cast<double>(figures.requests), 0);
  return {power + price.over * late, power};
}

}  // namespace wattle::sim::provision
