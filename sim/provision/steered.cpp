#include "sim/provision/steered.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::sim::provision {

namespace {

using models::provision::ServiceMinute;

constexpr double kSteeredMargin = 0.3;

double over(double a, double b, double otherwise) { return b > 0 ? a / b : otherwise; }

}  // namespace

Steered::Steered(const WorldOptions& world, const SteerOptions& options, Steering& steering)
    : options_(options), services_(world.services), memory_(world.memory_gib > 0), steering_(&steering) {
  actuator::StudentRules rules;
  rules.most_cores = world.cores;
  students_.assign(world.services * world.most_replicas, actuator::Student(rules));
  // The same masks as in operation; the owner wants the number that the world starts with.
  const auto live = models::provision::bounds_of(memory_, world.replicas, world.replicas);
  options_.bounds.memory = live.memory;
  options_.bounds.least_memory = live.least_memory;
  options_.bounds.least_replicas = live.least_replicas;
  options_.bounds.most_replicas = std::min(live.most_replicas, world.most_replicas);
  Steer first;
  first.setting.margin_ratio = kSteeredMargin;
  first.setting.replicas = world.replicas;
  steers_.assign(services_, first);
  shapes_.assign(services_, {world.replicas, std::nullopt});
}

void Steered::watch(const Reading& reading) {
  for (std::size_t i = 0; i < services_; ++i) {
    Steer& service = steers_[i];
    for (std::size_t place = i; place < reading.services.size(); place += services_) {
      const ServiceReading& replica = reading.services[place];
      service.watch.add({replica.used_s, replica.granted_s, replica.throttled_periods > 0, replica.active,
                         replica.missed_ratio, replica.working_gib});
      if (replica.active) service.memory_gib += shapes_[i].memory_gib.value_or(replica.working_gib);
    }
    service.watch.end_tick(reading.elapsed_s);
  }
}

MinuteOfService Steered::seen_of(Steer& service, const Reading& reading) const {
  const MinuteReading& requests = *reading.minute;
  const auto ticks = static_cast<double>(service.watch.ticks());
  const double used_s = service.watch.used_s(), used = service.watch.used_cores(),
               granted = service.watch.granted_cores();
  const auto replicas = static_cast<double>(service.setting.replicas);
  MinuteOfService seen;
  seen.bounds = options_.bounds;
  actuator::IntegralRules by_throttling = options_.rule;
  by_throttling.aim_ratio = options_.throttled_aim_ratio;
  seen.local_rule_margin = actuator::next_margin(by_throttling, service.setting.margin_ratio,
                                                 {service.watch.ticks(), service.watch.throttled()});
  ServiceMinute& state = seen.state;
  state = service.watch.end_minute(service.setting, reading.cores);

  models::provision::CostedMinute minute{
      used_s,         used,          granted,           std::nullopt,
      requests.count, requests.over, requests.rate_rps, requests.p99_s / reading.target_s};
  if (memory_) minute.memory_gib = over(service.memory_gib, ticks, 0) * replicas;
  const auto reported = service.costs.add(minute, options_.price, state);
  seen.cost = reported.cost;
  seen.need = reported.need;
  if (const auto next = forecast_.next())
    state.rate = models::provision::rate_of(requests.rate_rps, last_rps_, next->rate_rps, next->high_rps);
  state.day_ratio = std::fmod(reading.now_s, 86'400) / 86'400;
  state.rule_margin_ratio =
      actuator::next_margin(options_.rule, state.now.margin_ratio, {requests.count, requests.over});

  service.memory_gib = 0;
  return seen;
}

void Steered::steer(const Reading& reading) {
  forecast_.add(reading.minute->rate_rps, reading.now_s);
  for (std::size_t i = 0; i < services_; ++i) {
    Steer& service = steers_[i];
    const MinuteOfService seen = seen_of(service, reading);
    service.setting = steering_->minute(i, seen);
    shapes_[i].replicas = service.setting.replicas;
    if (const auto peak_gib = service.watch.peak_gib(); memory_ && peak_gib)
      shapes_[i].memory_gib = (1 + service.setting.memory_ratio) * *peak_gib;
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
    // Each replica has a separate node here, without other load.
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
