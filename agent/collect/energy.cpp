#include "agent/collect/energy.hpp"

#include <algorithm>
#include <cmath>

#include "agent/collect/procfs.hpp"
#include "common/stats/exact_split.hpp"

namespace wattle::agent {

namespace {
constexpr std::array<EnergyKind, 6> kKindOrder{EnergyKind::package, EnergyKind::core, EnergyKind::uncore,
                                               EnergyKind::dram,    EnergyKind::psys, EnergyKind::other};
// Platform counters may step by a whole joule (Sapphire Rapids), so an interval's value may be below the packages'. The
// shortfall is subtracted from a later excess; a larger one means that the board does not count the packages.
constexpr std::uint64_t kMaxPlatformDebt_uj = 2'000'000;

double cores_of(const AgentConfig& config) {
  const auto text = read_file(config.roots.proc + "/stat", 16 << 20);
  const auto cpu = text ? parse_stat(*text, 100) : std::nullopt;
  return cpu ? cpu->cores : 1;
}

// Returns true for a physical processor with RAPL: if its counters are missing, a kernel module is not loaded.
bool may_count_energy(const AgentConfig& config) {
  const auto cpuinfo = read_file(config.roots.proc + "/cpuinfo", 16 << 20);
  if (!cpuinfo) return true;
  const auto has = [&](const char* word) { return cpuinfo->find(word) != std::string::npos; };
  return (has("GenuineIntel") || has("AuthenticAMD") || has("HygonGenuine")) && !has(" hypervisor");
}

PowerModel model_of(const AgentConfig& config, double cores) {
  if (config.estimate.idle_w && config.estimate.max_w)
    return {*config.estimate.idle_w, *config.estimate.max_w, config.estimate.curve, "configuration"};
  const auto proc = Dir::open_(config.roots.proc);
  if (!proc) return table_model(std::nullopt, 1);
  const auto cpuinfo = proc->read_file("cpuinfo", 16 << 20);
  return table_model(cpuinfo ? parse_cpuinfo(*cpuinfo) : std::nullopt, cores);
}

std::uint64_t uj(double power_w, Duration interval) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, power_w * seconds(interval) * 1e6)));
}
}  // namespace

std::optional<std::size_t> EnergyChoice::choose(std::span<const bool> complete, std::span<const bool> clean) {
  const auto first = [](std::span<const bool> of) -> std::optional<std::size_t> {
    const auto found = std::find(of.begin(), of.end(), true);
    if (found == of.end()) return std::nullopt;
    return static_cast<std::size_t>(found - of.begin());
  };
  for (std::size_t i = 0; i < complete.size(); ++i) streak_[i] = complete[i] ? streak_[i] + 1 : 0;
  if (!chosen_ || !complete[*chosen_]) {
    const auto next = first(complete);
    if (!next) return std::nullopt;
    chosen_ = next;
  } else {
    for (std::size_t better = 0; better < *chosen_; ++better)
      if (streak_[better] >= kReturnAfter) chosen_ = better;
  }
  if (clean[*chosen_]) return chosen_;
  // A counter that may have wrapped twice is not a reason to replace its source permanently.
  if (const auto other = first(clean)) return other;
  return chosen_;
}

bool meets(std::optional<EnergySource> before, std::optional<EnergySource> now) {
  return (before == EnergySource::pcm) == (now == EnergySource::pcm);
}

EnergyMeter EnergyMeter::open_(const AgentConfig& config, const std::optional<PerfPort>& perf) {
  EnergyMeter meter;
  meter.cores_ = cores_of(config);
  meter.model_ = model_of(config, meter.cores_);
  meter.check_ = EnergyCheck(meter.cores_);
  meter.configured_idle_w_ = config.estimate.idle_w;
  meter.model_scales_ = !config.estimate.idle_w || !config.estimate.max_w;
  meter.roots_ = config.roots;
  meter.open_sources(config, perf);

  meter.found_at_start_ = meter.findings_;
  meter.note_findings();
  return meter;
}

void EnergyMeter::open_sources(const AgentConfig& config, const std::optional<PerfPort>& perf) {
  const bool counts = may_count_energy(config);
  const auto note_source = [&](const std::string& name, const auto& opened, const auto& found) {
    if (opened)
      findings_.push_back(usable(name, found()));
    else if (opened.error().code == Errc::not_found && (name == "hwmon" || !counts))
      findings_.push_back(absent(name, opened.error()));
    else
      findings_.push_back(lost(name, opened.error()));
  };
  auto rapl = Rapl::open_(config.roots);
  note_source("rapl", rapl, [&] { return std::to_string(rapl->zone_count()) + " zones: " + rapl->zone_labels(); });
  if (rapl && rapl->uncounted()) findings_.back() = lost("rapl", *rapl->uncounted());
  if (rapl) rapl_.emplace(std::move(*rapl));
  auto counters = PerfEnergy::open_(config.roots, perf);
  note_source("perf-power", counters,
              [&] { return std::to_string(counters->counter_count()) + ": " + counters->labels(); });
  if (counters) perf_.emplace(std::move(*counters));
  auto sensors = Hwmon::open_(config.roots);
  note_source("hwmon", sensors, [&] { return sensors->labels(); });
  if (sensors) hwmon_.emplace(std::move(*sensors));
  if (!config.pcm) return;  // no port is probed unless it is configured
  pcm_ = Pcm::start(*config.pcm);
  if (pcm_->first_error())
    findings_.push_back(lost("pcm", *pcm_->first_error(), true, "systemctl start wattle-pcm; modprobe msr"));
  else
    findings_.push_back(usable("pcm", std::to_string(pcm_->socket_count()) + " sockets"));
}

const EnergyInterval& EnergyMeter::read(const Clock& clock, std::optional<double> utilisation_ratio,
                                        std::span<char> scratch, CollectErrors& errors) {
  const MonoTime now = clock.mono();
  const bool first = !at_;
  const Duration interval = first ? Duration{} : now - *at_;
  at_ = now;
  interval_.energy_uj.reset();
  interval_.gap = false;
  interval_.domains.clear();
  interval_.pools.clear();
  interval_.sockets.clear();
  interval_.rapl_uj.clear();

  if (!rapl_) look_for_rapl(now, errors);
  if (rapl_) rapl_->read(readings_[0], interval_.rapl_uj, clock, scratch, errors);
  if (perf_) perf_->read(readings_[1], errors);
  if (pcm_) pcm_->read(readings_[2], interval_.sockets, clock, errors);
  if (hwmon_) hwmon_->read(readings_[3], clock, scratch, errors);
  std::vector<EnergyCheck::Source> sources;
  for (std::size_t i = 0; i < kSources; ++i) sources.emplace_back(kOrder[i], &readings_[i]);
  check_.judge(sources, interval,
               utilisation_ratio ? std::optional(*utilisation_ratio * cores_ * seconds(interval)) : std::nullopt,
               hwmon_ ? hwmon_->averages_over() : Duration{}, errors);
  choose();
  if (first) return interval_;
  report_domains();
  add_up();
  interval_.gap = interval_.gap || !meets_;
  if (interval_.energy_uj)
    set_idle(utilisation_ratio, interval);
  else
    estimate(utilisation_ratio, interval);
  for (const auto kind : {EnergyKind::package, EnergyKind::dram, EnergyKind::psys})
    if (!used(kind) && check_.withheld(kind) && (kind != EnergyKind::psys || !used(EnergyKind::package)))
      interval_.gap = true;
  if (const auto& doubts = check_.doubts();
      !std::ranges::equal(doubts, noted_, {}, &EnergyDoubt::label, &EnergyDoubt::label)) {
    noted_ = doubts;
    note_findings();
  }
  return interval_;
}

void EnergyMeter::use_cores(double cores) {
  if (cores == cores_ || !(cores > 0)) return;
  if (model_scales_) {  // the table's watts are per CPU
    model_.idle_w *= cores / cores_;
    model_.max_w *= cores / cores_;
  }
  cores_ = cores;
  check_.use_cores(cores);
}

// The module may be loaded after the agent's start.
void EnergyMeter::look_for_rapl(MonoTime now, CollectErrors& errors) {
  if (looked_at_ && now - *looked_at_ < kLookAgain) return;
  const bool first = !looked_at_;
  looked_at_ = now;
  if (first) return;
  auto rapl = Rapl::open_(roots_);
  if (rapl)
    rapl_.emplace(std::move(*rapl));
  else if (rapl.error().code == Errc::denied)
    errors.emplace_back("rapl", rapl.error());
}

void EnergyMeter::choose() {
  const auto source_of = [](std::optional<std::size_t> used) {
    return used ? std::optional(kOrder[*used]) : std::nullopt;
  };
  meets_ = true;
  for (const auto kind : kKindOrder) {
    std::array<bool, kSources> complete{}, clean{};
    for (std::size_t i = 0; i < kSources; ++i) {
      bool any = false, all = true, sure = true;
      for (const auto& domain : readings_[i]) {
        if (domain.kind != kind) continue;
        any = true;
        all = all && domain.energy_uj.has_value();
        sure = sure && !domain.gap;
      }
      complete[i] = any && all;
      clean[i] = any && all && sure;
    }
    const auto k = static_cast<std::size_t>(kind);
    const auto before = used_[k];
    used_[k] = choices_[k].choose(complete, clean);
    const bool in_sum = kind == EnergyKind::package || kind == EnergyKind::dram || kind == EnergyKind::psys;
    if (in_sum && !meets(source_of(before), source_of(used_[k]))) meets_ = false;
  }
}

EveryReading EnergyMeter::every_reading() const {
  EveryReading out;
  for (std::size_t i = 0; i < kSources; ++i)
    if (!readings_[i].empty()) out.emplace_back(kOrder[i], readings_[i]);
  return out;
}

void EnergyMeter::report_domains() {
  for (const auto kind : kKindOrder) {
    const auto source = used(kind) ? used(kind) : choices_[static_cast<std::size_t>(kind)].chosen();
    for (std::size_t i = 0; i < kSources; ++i) {
      if (source && i != *source) continue;  // no source is complete yet: uses every partial reading
      for (const auto& domain : readings_[i]) {
        if (domain.kind != kind || !domain.energy_uj) continue;
        interval_.domains.push_back({domain.label, *domain.energy_uj, domain.gap, kOrder[i]});
      }
    }
  }
}

bool EnergyMeter::knows(EnergyKind kind) const {
  return std::any_of(readings_.begin(), readings_.end(), [&](const EnergyReadings& readings) {
    return std::any_of(readings.begin(), readings.end(), [&](const auto& domain) { return domain.kind == kind; });
  });
}

void EnergyMeter::add_up() {
  if (!add_packages() && !add_platform()) return;
  std::uint64_t sum = 0;
  for (const auto& pool : interval_.pools) sum += pool.energy_uj;
  interval_.energy_uj = sum;
}

bool EnergyMeter::add_packages() {
  const auto packages = used(EnergyKind::package);
  if (!packages) return false;
  interval_.source = kOrder[*packages];
  std::uint64_t sum = 0;
  const auto add = [&](std::size_t source, EnergyKind kind) {
    for (const auto& domain : readings_[source]) {
      if (domain.kind != kind) continue;
      auto pool = std::find_if(interval_.pools.begin(), interval_.pools.end(),
                               [&](const auto& known) { return known.package == domain.socket; });
      if (pool == interval_.pools.end()) pool = interval_.pools.insert(pool, {domain.socket, 0, 0});
      pool->energy_uj += *domain.energy_uj;
      sum += *domain.energy_uj;
      interval_.gap = interval_.gap || domain.gap;
    }
  };
  add(*packages, EnergyKind::package);
  if (const auto dram = used(EnergyKind::dram))
    add(*dram, EnergyKind::dram);
  else if (knows(EnergyKind::dram))
    interval_.gap = true;
  add_remainder(sum);
  return true;
}

void EnergyMeter::add_remainder(std::uint64_t packages_uj) {
  const auto source = used(EnergyKind::psys);
  if (!source || of_hwmon(*source)) {
    // The processor's own platform counter exists but has no reading, so the energy beyond the packages is missing.
    for (std::size_t i = 0; i < kSources; ++i) {
      const auto platforms = std::count_if(readings_[i].begin(), readings_[i].end(), [](const auto& domain) {
        return domain.kind == EnergyKind::psys && domain.fault != EnergyFault::still;
      });
      if (!of_hwmon(i) && platforms == 1) interval_.gap = true;
    }
    return;
  }
  // If there are several platform domains, their packages are unknown.
  const DomainEnergy* platform = nullptr;
  for (const auto& domain : readings_[*source]) {
    if (domain.kind != EnergyKind::psys) continue;
    if (platform != nullptr) return;
    platform = &domain;
  }
  interval_.gap = interval_.gap || platform->gap;
  const std::uint64_t owed_uj = packages_uj + platform_debt_uj_;
  if (*platform->energy_uj < owed_uj) {
    platform_debt_uj_ = std::min(owed_uj - *platform->energy_uj, kMaxPlatformDebt_uj);
    return;
  }
  platform_debt_uj_ = 0;
  interval_.pools.push_back({std::nullopt, *platform->energy_uj - owed_uj, 0});
}

bool EnergyMeter::add_platform() {
  const auto source = used(EnergyKind::psys);
  if (!source || (of_hwmon(*source) && knows(EnergyKind::package))) return false;
  std::uint64_t sum_uj = 0;
  std::size_t count = 0;
  bool gap = false;
  for (const auto& domain : readings_[*source]) {
    if (domain.kind != EnergyKind::psys) continue;
    sum_uj += *domain.energy_uj;
    gap = gap || domain.gap;
    ++count;
  }
  // Meters of the whole system are additive (hwmon.hpp); for several platform counters their packages are unknown.
  if (count > 1 && !of_hwmon(*source)) return false;
  interval_.source = kOrder[*source];
  interval_.gap = gap;
  interval_.pools.push_back({std::nullopt, sum_uj, 0});
  return true;
}

void EnergyMeter::estimate(std::optional<double> utilisation_ratio, Duration interval) {
  if (!utilisation_ratio) {
    interval_.gap = true;
    return;
  }
  const auto energy = estimate_energy(model_, *utilisation_ratio, interval);
  interval_.source = EnergySource::estimated;
  interval_.energy_uj = energy.energy_uj;
  interval_.gap = !meets_;
  interval_.pools.push_back({std::nullopt, energy.energy_uj, energy.idle_uj});
  interval_.domains.push_back({"estimated", energy.energy_uj, false, EnergySource::estimated});
}

void EnergyMeter::set_idle(std::optional<double> utilisation_ratio, Duration interval) {
  if (configured_idle_w_) {  // of the machine; each pool gets its part
    std::vector<std::uint64_t> weights;
    for (const auto& pool : interval_.pools) weights.push_back(pool.energy_uj);
    const auto parts = stats::split_exactly(uj(*configured_idle_w_, interval), weights);
    for (std::size_t i = 0; i < parts.size(); ++i) interval_.pools[i].idle_uj = parts[i];
    return;
  }
  for (auto& pool : interval_.pools) {
    auto idle = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& known) {
      return known.package == pool.package && known.source == interval_.source;
    });
    if (idle == idle_.end()) idle = idle_.insert(idle, Idle{pool.package, interval_.source, IdlePower(model_)});
    // The utilisation is sometimes unknown; the machine may have been fully used then.
    if (!interval_.gap && interval > Duration{})
      idle->power.observe(static_cast<double>(pool.energy_uj) / (seconds(interval) * 1e6),
                          utilisation_ratio.value_or(1));
    pool.idle_uj = uj(idle->power.idle_w().value_or(0), interval);
  }
}

}  // namespace wattle::agent
