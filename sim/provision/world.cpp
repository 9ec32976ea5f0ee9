#include "sim/provision/world.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "common/stats/quantile.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::provision {

namespace {

constexpr double kMean = 130;

}  // namespace

std::vector<RateTrace> synthetic_rates(std::uint64_t seed, std::size_t seconds) {
  std::vector<RateTrace> traces{{"diurnal", {}}, {"noisy", {}}, {"bursty", {}}, {"step", {}}};
  Random random(mix(seed, 0x7261746573ULL));
  const double turn = uniform(random) * 2 * std::numbers::pi;
  double level = 0, burst = 1, burst_aim = 1;
  std::size_t until = 0;
  for (std::size_t t = 0; t < seconds; ++t) {
    const double phase = 2 * std::numbers::pi * static_cast<double>(t) / 3600.0 + turn;
    const auto noisy = [&](double rate, double ratio) { return std::max(0.0, rate * (1 + ratio * normal(random))); };
    traces[0].rates_rps.push_back(noisy(kMean * (1 + 0.3 * std::sin(phase) + 0.08 * std::sin(5 * phase)), 0.02));
    level += -level / 60 + 0.04 * normal(random);
    traces[1].rates_rps.push_back(noisy(kMean * std::max(0.3, 1 + 0.5 * level), 0.2));
    if (t >= until) {
      burst_aim = burst_aim > 1 ? 1 : 1.5 + 1.5 * uniform(random);
      until = t + static_cast<std::size_t>(exponential(random, burst_aim > 1 ? 90 : 300)) + 10;
    }
    burst += (burst_aim - burst) / 8;  // half of the way within six seconds
    traces[2].rates_rps.push_back(noisy(kMean * 0.7 * burst, 0.05));
    traces[3].rates_rps.push_back(t % 1200 >= 600 && t % 1200 < 900 ? 2.0 * kMean : 0.5 * kMean);
  }
  return traces;
}

namespace {

constexpr std::uint64_t kTicksPerMinute = 600;
constexpr double kSlackS = 1e-6;   // so that rounding cuts off no request
constexpr double kMemoryS = 60;    // the working set follows the rate over this time
constexpr double kMissedWork = 5;  // factor on its work if its whole working set is missing

}  // namespace

World::World(WorldOptions options)
    : options_(std::move(options)),
      random_(mix(options_.seed, 0x70726f76ULL)),
      services_(options_.services * options_.most_replicas, Service(options_.cores)),
      memory_(services_.size()),
      replicas_(options_.services, std::clamp<std::size_t>(options_.replicas, 1, options_.most_replicas)),
      memory_limit_gib_(options_.services),
      readings_(services_.size()),
      before_(services_.size()) {
  end_s_ = options_.warm_s + static_cast<double>(options_.trace->rates_rps.size());
  minutes_.resize(static_cast<std::size_t>(std::ceil(static_cast<double>(options_.trace->rates_rps.size()) / 60)));
  phase_s_ = uniform(random_) * kPeriodS;
  const double variance = std::log1p(options_.work_cv * options_.work_cv);
  log_deviation_ = std::sqrt(variance);
  log_mean_ = std::log(options_.work_s) - variance / 2;
  if (!options_.clairvoyant)
    for (Service& service : services_) (void)service.bandwidth.set(plain_limit(options_.first_cores));
  draw_next_arrival();
}

double World::rate_rps(std::int64_t second) const {
  const auto& rates = options_.trace->rates_rps;
  const auto warm = static_cast<std::int64_t>(options_.warm_s);
  const std::int64_t of_trace = second < warm ? warm - 1 - second : second - warm;
  return rates[static_cast<std::size_t>(of_trace) % rates.size()];
}

void World::draw_next_arrival() {
  // The rate is constant within a second; past its end the draw restarts there, which is valid for memoryless arrivals.
  for (;;) {
    const auto second = static_cast<std::int64_t>(arrival_from_s_);
    const double rate = rate_rps(second);
    const double next_s =
        rate > 0 ? arrival_from_s_ + exponential(random_, 1 / rate) : std::numeric_limits<double>::infinity();
    const auto second_end_s = static_cast<double>(second + 1);
    if (next_s < second_end_s) {
      next_arrival_s_ = arrival_from_s_ = next_s;
      return;
    }
    arrival_from_s_ = second_end_s;
    if (arrival_from_s_ >= end_s_) {
      next_arrival_s_ = std::numeric_limits<double>::infinity();
      return;
    }
  }
}

MinuteCount* World::judged_minute(double arrived_s) {
  if (arrived_s < options_.warm_s) return nullptr;
  const auto minute = static_cast<std::size_t>((arrived_s - options_.warm_s) / 60);
  return minute < minutes_.size() ? &minutes_[minute] : nullptr;
}

void World::arrive() {
  std::uint64_t id = requests_.size();
  if (free_.empty()) {
    requests_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Request& request = requests_[id];
  request.arrived_s = now_s_;
  // Draws for every entry, although a request has the same work on all replicas, so that a seed's requests stay the
  // same.
  for (std::size_t place = 0; place < services_.size(); ++place) {
    const double work_s = std::exp(log_mean_ + log_deviation_ * normal(random_));
    if (place < options_.services) request.work_s[place] = work_s;
  }
  pass_on(0, id);
  if (MinuteCount* minute = judged_minute(now_s_)) ++minute->count;
  ++arrived_;
  draw_next_arrival();
}

void World::pass_on(std::size_t service, std::uint64_t id) {
  std::size_t place = service;
  for (std::size_t i = 1; i < replicas_[service]; ++i)
    if (const std::size_t other = service + i * options_.services;
        services_[other].waiting() < services_[place].waiting())
      place = other;
  double work_s = requests_[id].work_s[service];
  if (options_.memory_gib > 0) {
    Memory& memory = memory_[place];
    memory.rate_rps = memory.rate_rps * std::exp((memory.at_s - now_s_) / kMemoryS) + 1 / kMemoryS;
    memory.at_s = now_s_;
    const double missed = 1 - std::min(1.0, granted_gib(place) / working_gib(place));
    work_s *= 1 + kMissedWork * missed;
    memory.missed += missed;
    ++memory.arrived;
  }
  services_[place].arrive(id, work_s);
}

double World::working_gib(std::size_t place) const {
  const Memory& memory = memory_[place];
  return options_.memory_gib +
         options_.memory_gib_per_rps * memory.rate_rps * std::exp((memory.at_s - now_s_) / kMemoryS);
}

double World::granted_gib(std::size_t place) const {
  return memory_limit_gib_[place % options_.services].value_or(working_gib(place));
}

void World::shape(std::size_t service, const Shape& shape) {
  const std::size_t wanted = std::clamp<std::size_t>(shape.replicas, 1, options_.most_replicas);
  // A new replica begins with the limit of the first.
  for (std::size_t i = replicas_[service]; i < wanted; ++i)
    if (const auto limit = services_[service].bandwidth.limit())
      (void)services_[service + i * options_.services].bandwidth.set(*limit);
  replicas_[service] = wanted;
  memory_limit_gib_[service] = shape.memory_gib;
}

void World::count_shapes(double seconds) {
  for (std::size_t place = 0; place < services_.size(); ++place) {
    if (!active(place)) continue;
    replicas_s_ += seconds;
    if (options_.memory_gib > 0) memory_gib_s_ += seconds * granted_gib(place);
  }
}

void World::finish(std::size_t place, std::uint64_t id) {
  Request& request = requests_[id];
  if (const std::size_t next = place % options_.services + 1; next < options_.services) {
    pass_on(next, id);
    return;
  }
  const double latency_s = now_s_ - request.arrived_s;
  answered_s_.push_back(latency_s);
  if (MinuteCount* minute = judged_minute(request.arrived_s); minute && latency_s > options_.target_s) ++minute->over;
  request.arrived_s = -1;
  free_.push_back(id);
}

void World::begin_period() {
  ++periods_;
  for (std::size_t i = 0; i < services_.size(); ++i)
    if (active(i) || services_[i].waiting() > 0) services_[i].begin_period();
  if (!options_.clairvoyant) return;
  World ahead = *this;
  ahead.options_.clairvoyant = false;
  for (Service& service : ahead.services_) (void)service.bandwidth.set_quota(std::nullopt);
  ahead.run_until(now_s_ + kPeriodS);
  for (std::size_t i = 0; i < services_.size(); ++i) {
    Bandwidth& mine = services_[i].bandwidth;
    mine.grant_period(ahead.services_[i].bandwidth.used_s() - mine.used_s() + kSlackS);
  }
}

void World::run_until(double to_s) {
  for (;;) {
    const double period_s = static_cast<double>(periods_ + 1) * kPeriodS;
    double next_s = std::min({to_s, next_arrival_s_, period_s});
    for (const Service& service : services_) next_s = std::min(next_s, service.next_event_s(now_s_));
    for (Service& service : services_) service.advance(now_s_, next_s);
    now_s_ = next_s;
    for (std::size_t i = 0; i < services_.size(); ++i)
      while (const auto request = services_[i].take_done()) finish(i, *request);
    if (now_s_ >= period_s) begin_period();
    if (now_s_ >= next_arrival_s_) arrive();
    if (now_s_ >= to_s) return;
  }
}

World::Sums World::sums() const {
  Sums sums;
  for (const Service& service : services_) {
    sums.granted_s += service.bandwidth.granted_s();
    sums.used_s += service.bandwidth.used_s();
    sums.writes += service.bandwidth.writes();
  }
  sums.memory_gib_s = memory_gib_s_;
  sums.replicas_s = replicas_s_;
  return sums;
}

void World::close_minute() {
  const Sums now = sums();
  minute_ = {};
  minute_.count = answered_s_.size();
  for (const double latency_s : answered_s_) minute_.over += latency_s > options_.target_s ? 1 : 0;
  minute_.rate_rps = static_cast<double>(arrived_) / 60;
  minute_.used_cores = (now.used_s - minute_from_.used_s) / 60;
  minute_.granted_cores = (now.granted_s - minute_from_.granted_s) / 60;
  minute_.memory_gib = (now.memory_gib_s - minute_from_.memory_gib_s) / 60;
  minute_.replicas = (now.replicas_s - minute_from_.replicas_s) / 60;
  minute_.p99_s = stats::quantile(std::move(answered_s_), 0.99).value_or(0);
  answered_s_.clear();
  arrived_ = 0;
  minute_from_ = now;
}

Reading World::advance() {
  ++ticks_;
  const double tick_s = std::min(static_cast<double>(ticks_) * kPeriodS + phase_s_, end_s_);
  const bool judged_now = now_s_ < options_.warm_s && tick_s >= options_.warm_s;
  run_until(tick_s);
  count_shapes(tick_s - read_s_);
  if (judged_now) judged_from_ = sums();
  for (std::size_t i = 0; i < services_.size(); ++i) {
    const Counter now{services_[i].bandwidth.used_s(), services_[i].bandwidth.granted_s(),
                      services_[i].throttled_periods()};
    readings_[i] = {now.used_s - before_[i].used_s,
                    now.throttled_periods - before_[i].throttled_periods,
                    services_[i].bandwidth.limit(),
                    active(i),
                    now.granted_s - before_[i].granted_s,
                    0,
                    0};
    if (options_.memory_gib > 0) {
      Memory& memory = memory_[i];
      readings_[i].working_gib = working_gib(i);
      readings_[i].missed_ratio = memory.missed / std::max(memory.arrived, 1.0);
      memory.missed = memory.arrived = 0;
    }
    before_[i] = now;
  }
  Reading reading{now_s_, now_s_ - read_s_, options_.cores, options_.target_s, readings_, nullptr};
  read_s_ = now_s_;
  if (ticks_ % kTicksPerMinute == 0) {
    close_minute();
    reading.minute = &minute_;
  }
  return reading;
}

Status World::write(std::size_t place, const actuator::CpuLimit& limit) {
  return services_[place].bandwidth.set(limit);
}

std::vector<MinuteCount> World::minutes() const {
  std::vector<MinuteCount> minutes = minutes_;
  for (const Request& request : requests_)
    if (request.arrived_s >= options_.warm_s && now_s_ - request.arrived_s > options_.target_s)
      ++minutes[std::min(static_cast<std::size_t>((request.arrived_s - options_.warm_s) / 60), minutes.size() - 1)]
            .over;
  return minutes;
}

Figures World::figures() const {
  Figures figures;
  const Sums now = sums();
  const double judged_s = std::max(now_s_ - options_.warm_s, kPeriodS);
  figures.granted_cores = (now.granted_s - judged_from_.granted_s) / judged_s;
  figures.used_cores = (now.used_s - judged_from_.used_s) / judged_s;
  figures.memory_gib = (now.memory_gib_s - judged_from_.memory_gib_s) / judged_s;
  figures.replicas = (now.replicas_s - judged_from_.replicas_s) / judged_s;
  figures.writes_per_minute = static_cast<double>(now.writes - judged_from_.writes) * 60 / judged_s;
  for (const MinuteCount& minute : minutes()) {
    if (minute.count == 0) continue;
    ++figures.minutes;
    figures.minutes_over += minute.is_over() ? 1 : 0;
    figures.requests += minute.count;
    figures.requests_over += minute.over;
    figures.requests_excess +=
        std::max(0.0, static_cast<double>(minute.over) - kShareOver * static_cast<double>(minute.count));
  }
  return figures;
}

Status play_on(World& world, Provisioner& provisioner) {
  std::vector<std::optional<actuator::CpuLimit>> next(world.options().services * world.options().most_replicas);
  while (!world.done()) {
    const Reading reading = world.advance();
    std::fill(next.begin(), next.end(), std::nullopt);
    provisioner.tick(reading, next);
    if (world.options().clairvoyant) continue;
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (!next[i]) continue;
      WATTLE_CHECK(world.write(i, *next[i]));
    }
    const auto shapes = provisioner.shapes();
    for (std::size_t i = 0; i < shapes.size(); ++i) world.shape(i, shapes[i]);
  }
  return {};
}

Result<Figures> play(World world, Provisioner& provisioner) {
  WATTLE_CHECK(play_on(world, provisioner));
  return world.figures();
}

}  // namespace wattle::sim::provision
