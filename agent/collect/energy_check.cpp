#include "agent/collect/energy_check.hpp"

#include <algorithm>
#include <cmath>

#include "common/formatted.hpp"

namespace wattle::agent {

namespace {
constexpr double kMaxPart_w = 1000, kMaxPlatform_w = 4000, kMaxSystem_w = 20'000;
constexpr double kSlack_s = 1;  // the clock is read next to the counter, not at the same moment
constexpr double kMaxFactor = 2, kMaxExcess = 1.2, kLeastDifference_w = 5;
constexpr Duration kCompareOver = std::chrono::seconds(3), kComparePcmOver = std::chrono::seconds(30);
constexpr Duration kShortest = std::chrono::milliseconds(50);

double max_power_w(EnergySource source, EnergyKind kind) {
  if (kind == EnergyKind::psys || kind == EnergyKind::other)
    return source == EnergySource::hwmon ? kMaxSystem_w : kMaxPlatform_w;
  return kMaxPart_w;
}

bool always_counts(EnergyKind kind) {
  return kind == EnergyKind::package || kind == EnergyKind::core || kind == EnergyKind::dram;
}

bool has_package(const EnergyReadings& readings) {
  return std::ranges::any_of(
      readings, [](const auto& domain) { return domain.kind == EnergyKind::package && domain.energy_uj.has_value(); });
}

std::string watts(double power_w) { return fixed(power_w, 1) + " W"; }

struct Sum {
  double energy_uj = 0;
  std::vector<unsigned> sockets;
};

// Returns the sum of all domains of a kind; no value if one of them has no energy, or only a lower bound.
std::optional<Sum> sum_of(const EnergyReadings& readings, EnergyKind kind) {
  Sum sum;
  for (const auto& domain : readings) {
    if (domain.kind != kind) continue;
    if (!domain.energy_uj || domain.gap) return std::nullopt;
    sum.energy_uj += static_cast<double>(*domain.energy_uj);
    sum.sockets.push_back(domain.socket.value_or(0));
  }
  std::sort(sum.sockets.begin(), sum.sockets.end());
  sum.sockets.erase(std::unique(sum.sockets.begin(), sum.sockets.end()), sum.sockets.end());
  return sum.sockets.empty() ? std::nullopt : std::optional(std::move(sum));
}
}  // namespace

bool EnergyCheck::withheld(EnergyKind kind) const {
  return std::ranges::any_of(doubts_, [&](const EnergyDoubt& doubt) { return doubt.kind == kind; });
}

void EnergyCheck::withhold(EnergySource source, DomainEnergy& domain, EnergyFault fault, std::string why) {
  domain.fault = fault;
  domain.energy_uj.reset();
  domain.gap = false;
  doubts_.push_back({source, domain.kind, domain.label, std::move(why)});
}

void EnergyCheck::judge_counter(EnergySource source, DomainEnergy& domain, Duration interval,
                                std::optional<double> busy_core_s) {
  if (domain.fault == EnergyFault::backwards)
    return withhold(source, domain, domain.fault, "runs backwards: the value has decreased without a wrap");
  if (domain.fault == EnergyFault::jump)
    return withhold(source, domain, domain.fault, "jumps: it rose by more than the hardware can draw");
  if (domain.fault == EnergyFault::uncounted) return withhold(source, domain, domain.fault, std::string(kUncounted));
  if (!domain.energy_uj) return;
  const double most_w = max_power_w(source, domain.kind);
  const double power_w = static_cast<double>(*domain.energy_uj) / (std::max(seconds(interval), 1e-9) * 1e6);
  if (static_cast<double>(*domain.energy_uj) > (seconds(interval) + kSlack_s) * most_w * 1e6)
    return withhold(source, domain, EnergyFault::jump,
                    "jumps: " + watts(power_w) + " is more than the hardware can draw");
  if (always_counts(domain.kind)) judge_still(source, domain, interval, busy_core_s, true);
}

void EnergyCheck::judge_still(EnergySource source, DomainEnergy& domain, Duration interval,
                              std::optional<double> busy_core_s, bool is_used) {
  if (!domain.energy_uj) return;
  const bool platform = domain.kind == EnergyKind::psys;
  Counter& counter = counters_[{source, domain.label}];
  if (*domain.energy_uj > 0) {
    counter.still_for = {};
    counter.busy_core_s = 0;
    if (!counter.still) return;
    counter.still = ++counter.moved < kReturnAfter;
    if (counter.still && is_used)
      withhold(source, domain, EnergyFault::still, "stood still and has just started to advance again");
    return;
  }
  if (!platform) counter.moved = 0;
  if (!busy_core_s || interval < kShortest) {
    if (counter.still && is_used) withhold(source, domain, EnergyFault::still, "stands still");
    return;
  }
  counter.still_for += interval;
  counter.busy_core_s += *busy_core_s;
  const bool long_enough = counter.still_for >= (platform ? kPlatformStill_after : kStill_after);
  if (long_enough && counter.busy_core_s >= kStill_busy_core_s) {
    counter.still = true;
    counter.moved = 0;
  }
  if (!is_used) return;
  if (counter.still) {
    return withhold(source, domain, EnergyFault::still,
                    formatted("stands still: 0 J in %.0f s with %.1f core-seconds of CPU time",
                              seconds(counter.still_for), counter.busy_core_s));
  }
  domain.gap = domain.gap || (*busy_core_s > 0 && (!platform || counter.still_for >= kStill_after));
}

void EnergyCheck::judge_meter(EnergySource source, DomainEnergy& domain, Duration interval,
                              std::optional<double> busy_core_s, Duration meter_lag) {
  if (!domain.energy_uj || !busy_core_s || interval < kShortest) return;
  constexpr double kRounding_uj = 2;
  Shown& shown = meters_[domain.label];
  const double energy_uj = static_cast<double>(*domain.energy_uj), us = seconds(interval) * 1e6;
  if (std::abs(energy_uj - shown.power_w * us) > kRounding_uj) {
    shown = Shown{};
    shown.power_w = energy_uj / us;
  }
  shown.same_for += interval;
  shown.window += interval;
  shown.window_core_s += *busy_core_s;
  if (shown.window >= kFrozen_window) {
    const double cores = shown.window_core_s / seconds(shown.window);
    shown.least_cores = std::min(shown.least_cores.value_or(cores), cores);
    shown.most_cores = std::max(shown.most_cores.value_or(cores), cores);
    shown.window = {};
    shown.window_core_s = 0;
  }
  if (!shown.most_cores || shown.same_for < kFrozen_after + 3 * meter_lag) return;
  if (*shown.most_cores - *shown.least_cores < kFrozen_cpu_ratio * cores_) return;
  withhold(source, domain, EnergyFault::still,
           formatted("stands still: %.3f W for %.0f s in which the CPU use changed from %.1f to %.1f cores",
                     shown.power_w, seconds(shown.same_for), *shown.least_cores, *shown.most_cores));
}

void EnergyCheck::compare(std::span<const Source> sources, EnergyKind kind, Duration interval) {
  auto& pairs = pairs_[kind == EnergyKind::package ? 0 : 1];
  std::map<EnergySource, std::pair<std::string, bool>> odd;  // the disagreeing source, and whether another agrees
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (std::size_t j = i + 1; j < sources.size(); ++j) {
      const auto one = sum_of(*sources[i].second, kind), other = sum_of(*sources[j].second, kind);
      if (!one || !other || one->sockets != other->sockets) continue;
      Pair& pair = pairs[{sources[i].first, sources[j].first}];
      pair.one_uj += one->energy_uj;
      pair.other_uj += other->energy_uj;
      pair.over += interval;
      const bool late = sources[i].first == EnergySource::pcm || sources[j].first == EnergySource::pcm;
      if (pair.over >= (late ? kComparePcmOver : kCompareOver)) {
        pair.one_w = pair.one_uj / (seconds(pair.over) * 1e6);
        pair.other_w = pair.other_uj / (seconds(pair.over) * 1e6);
        const double more_w = std::max(pair.one_w, pair.other_w), less_w = std::min(pair.one_w, pair.other_w);
        pair.agree = more_w <= kMaxFactor * less_w || more_w - less_w <= kLeastDifference_w;
        pair.one_uj = pair.other_uj = 0;
        pair.over = {};
      }
      if (!pair.agree) continue;
      auto &of_one = odd[sources[i].first], &of_other = odd[sources[j].first];
      if (*pair.agree) {
        of_one.second = of_other.second = true;
        continue;
      }
      of_one.first = "disagrees: " + watts(pair.one_w) + ", and " + watts(pair.other_w) + " by " +
                     std::string(to_string(sources[j].first));
      of_other.first = "disagrees: " + watts(pair.other_w) + ", and " + watts(pair.one_w) + " by " +
                       std::string(to_string(sources[i].first));
    }
  }
  for (const auto& [source, readings] : sources) {
    const auto found = odd.find(source);
    if (found == odd.end() || found->second.first.empty() || found->second.second) continue;
    for (auto& domain : *readings)
      if (domain.kind == kind) withhold(source, domain, EnergyFault::disagrees, found->second.first);
  }
}

// A part of the system cannot draw more than the whole.
void EnergyCheck::compare_with_system(std::span<const Source> sources, Duration interval, Duration meter_lag) {
  std::optional<Sum> packages, system;
  EnergyReadings *of_packages = nullptr, *of_system = nullptr;
  EnergySource measured = EnergySource::none;
  for (const auto& [source, readings] : sources) {
    if (source == EnergySource::hwmon) system = sum_of(*readings, EnergyKind::psys), of_system = readings;
    if (packages) continue;
    packages = sum_of(*readings, EnergyKind::package);
    of_packages = readings, measured = source;
  }
  if (!packages || !system) return;
  system_.one_uj += packages->energy_uj;
  system_.other_uj += system->energy_uj;
  system_.over += interval;
  const Duration least = measured == EnergySource::pcm ? kComparePcmOver : kCompareOver;
  if (system_.over >= least + 3 * meter_lag) {
    system_.one_w = system_.one_uj / (seconds(system_.over) * 1e6);
    system_.other_w = system_.other_uj / (seconds(system_.over) * 1e6);
    system_.agree =
        system_.one_w <= kMaxExcess * system_.other_w || system_.one_w - system_.other_w <= kLeastDifference_w;
    system_.one_uj = system_.other_uj = 0;
    system_.over = {};
  }
  if (!system_.agree || *system_.agree) return;
  for (auto& domain : *of_packages)
    if (domain.kind == EnergyKind::package)
      withhold(measured, domain, EnergyFault::disagrees,
               "disagrees: packages draw " + watts(system_.one_w) + ", and the whole system " + watts(system_.other_w) +
                   " by hwmon");
  for (auto& domain : *of_system)
    if (domain.kind == EnergyKind::psys)
      withhold(EnergySource::hwmon, domain, EnergyFault::disagrees,
               "disagrees: the whole system draws " + watts(system_.other_w) + ", and its packages " +
                   watts(system_.one_w) + " by " + std::string(to_string(measured)));
}

void EnergyCheck::judge(std::span<const Source> sources, Duration interval, std::optional<double> busy_core_s,
                        Duration meter_lag, CollectErrors& errors) {
  doubts_.clear();
  for (const auto& [source, readings] : sources)
    for (auto& domain : *readings) {
      judge_counter(source, domain, interval, busy_core_s);
      if (source == EnergySource::hwmon) judge_meter(source, domain, interval, busy_core_s, meter_lag);
    }
  compare(sources, EnergyKind::package, interval);
  compare(sources, EnergyKind::dram, interval);
  compare_with_system(sources, interval, meter_lag);
  // At zero, a platform counter adds nothing to packages. Without packages it would be the energy of the machine.
  const bool packages = std::ranges::any_of(sources, [](const Source& source) { return has_package(*source.second); });
  for (const auto& [source, readings] : sources)
    for (auto& domain : *readings)
      if (domain.kind == EnergyKind::psys) judge_still(source, domain, interval, busy_core_s, !packages);
  for (const EnergyDoubt& doubt : doubts_)
    errors.emplace_back(std::string(to_string(doubt.source)),
                        Error{Errc::malformed, doubt.label, doubt.why, "the agent estimates its energy meanwhile"});
}

}  // namespace wattle::agent
