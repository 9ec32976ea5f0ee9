// energy_findings: the part of EnergyMeter that reports to doctor and Hello which source measures what, and which
// counters are not trusted.
#include <algorithm>
#include <set>
#include <thread>

#include "agent/collect/energy.hpp"

namespace wattle::agent {

// Returns for example "package by rapl, system by hwmon"; omits a kind if one of the source's counters is in doubt.
std::string EnergyMeter::measured_by(std::span<const EnergyDoubt> doubts) {
  const std::array<std::string, kSources> labels{rapl_ ? rapl_->zone_labels() : "", perf_ ? perf_->labels() : "",
                                                 pcm_ && !pcm_->first_error() ? "package-, dram-" : "",
                                                 hwmon_ ? hwmon_->kinds() : ""};
  std::string measured;
  interval_.source = EnergySource::none;
  for (const auto& [domain, kind] : {std::pair{std::string_view("package-"), EnergyKind::package},
                                     {"dram-", EnergyKind::dram},
                                     {"psys", EnergyKind::psys},
                                     {"system", EnergyKind::psys}}) {
    for (std::size_t i = 0; i < kSources; ++i) {
      if (labels[i].find(domain) == std::string::npos) continue;
      if (std::ranges::any_of(
              doubts, [&, k = kind](const EnergyDoubt& doubt) { return doubt.source == kOrder[i] && doubt.kind == k; }))
        continue;
      if (measured.empty()) interval_.source = kOrder[i];
      measured += (measured.empty() ? "" : ", ") + std::string(domain.substr(0, domain.find('-'))) + " by " +
                  std::string(to_string(kOrder[i]));
      break;
    }
  }
  return measured;
}

void EnergyMeter::note_findings() {
  const EnergySource source = interval_.source;
  findings_ = found_at_start_;
  for (const EnergyDoubt& doubt : noted_) {
    const std::string name = doubt.source == EnergySource::perf ? "perf-power" : std::string(to_string(doubt.source));
    const auto found = std::ranges::find(findings_, name, &Finding::source);
    if (found == findings_.end()) continue;
    found->why = (found->ok ? "" : found->why + "; ") + doubt.label + " " + doubt.why;
    if (found->ok) found->fix = "";
    found->ok = false;
  }
  const std::string measured = measured_by(noted_), model = "estimated from utilisation, " + model_.origin;
  if (measured.empty()) interval_.source = EnergySource::estimated;
  if (at_) interval_.source = source;  // for an interval that was read
  findings_.push_back(usable("energy", measured.empty() ? model : measured + "; without a reading " + model));
}

std::vector<Finding> examine_energy(const AgentConfig& config) {
  auto meter = EnergyMeter::open_(config);
  meter.look_for_still_counters();
  return meter.findings();
}

// A running machine draws power, so the counter of a whole package that does not increase does not work.
void EnergyMeter::look_for_still_counters() {
  const SystemClock clock;
  const MonoTime began = clock.mono();
  std::array<EnergyReadings, kSources> now;
  std::set<std::pair<std::size_t, std::string>> moved;
  std::vector<std::pair<std::string, std::uint64_t>> raw;
  std::vector<char> scratch(64 << 10);
  CollectErrors errors;
  do {
    noted_.clear();
    if (rapl_) rapl_->read(now[0], raw, clock, scratch, errors);
    if (perf_) perf_->read(now[1], errors);
    CollectErrors of_hwmon;
    if (hwmon_) hwmon_->read(now[3], clock, scratch, of_hwmon);
    for (std::size_t i = 0; i < kSources; ++i)
      for (const auto& domain : now[i]) {
        const bool counts =
            domain.kind == EnergyKind::package || domain.kind == EnergyKind::core || domain.kind == EnergyKind::dram;
        if (domain.energy_uj.value_or(0) > 0) moved.emplace(i, domain.label);
        if (counts && !moved.contains({i, domain.label}))
          noted_.push_back({kOrder[i], domain.kind, domain.label,
                            domain.fault == EnergyFault::uncounted
                                ? std::string(kUncounted)
                                : "does not advance while the machine runs; the agent estimates its energy instead"});
        else if (!counts && kOrder[i] == EnergySource::hwmon && !domain.energy_uj && !of_hwmon.empty())
          noted_.push_back(
              {kOrder[i], domain.kind, domain.label,
               "cannot be read: " + of_hwmon.front().second.subject + ": " + of_hwmon.front().second.what});
      }
    if (!noted_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (!noted_.empty() && clock.mono() - began < kStandsStill);
  note_findings();
}

}  // namespace wattle::agent
