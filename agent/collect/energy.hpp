// energy: the node's energy meter. At each tick it reads every source of this node and chooses among them by kind of
// domain (package, DRAM, platform), in the order rapl, perf, pcm, hwmon. Without a measurement it estimates from
// utilisation.
// Source   agent/collect/{rapl,perf_energy,pcm,hwmon,estimate}
// Gives    the interval's energy as a sum without double counting, divided into pools for attribution
// Units    uJ
// Checks   agent/collect/energy_check: an implausible counter is withheld. If no other source has the kind, the
//          interval is estimated and `gap`, and the reason is in `errors` and findings()
// Errors   a failed source is reported in `errors`; the next one replaces it in the same interval, because all are read
//          at each tick. It is used again after kReturnAfter good intervals
// Threads  single owner
//
// The sum is packages and DRAM, plus the amount by which a platform domain (psys) of the processor's counters exceeds
// them. A power meter of the whole system (hwmon) is reported as a domain, and is the sum only if no source has
// packages.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/attribute/attribute.hpp"
#include "agent/collect/energy_check.hpp"
#include "agent/collect/energy_reading.hpp"
#include "agent/collect/estimate.hpp"
#include "agent/collect/hwmon.hpp"
#include "agent/collect/pcm.hpp"
#include "agent/collect/perf_energy.hpp"
#include "agent/collect/rapl.hpp"
#include "agent/config.hpp"
#include "agent/finding.hpp"
#include "common/clock.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct EnergyInterval {
  EnergySource source = EnergySource::none;  // of the sum, or of the next one
  std::optional<std::uint64_t> energy_uj;
  bool gap = false;  // energy_uj is a lower bound, or unset although energy was used
  std::vector<EnergyDomain> domains;
  std::vector<EnergyPool> pools;  // add up to energy_uj
  std::vector<SocketValues> sockets;
  std::vector<std::pair<std::string, std::uint64_t>> rapl_uj;  // zone label, counter
};

using EveryReading = std::vector<std::pair<EnergySource, EnergyReadings>>;

// Chooses the source for one kind of domain.
class EnergyChoice {
 public:
  // Returns the source for this interval. `complete[i]`: source i has readings of all its domains of this kind;
  // `clean[i]`: and none of them is a lower bound. Both are in the order of preference.
  std::optional<std::size_t> choose(std::span<const bool> complete, std::span<const bool> clean);
  std::optional<std::size_t> chosen() const { return chosen_; }

 private:
  static constexpr std::size_t kMaxSources = 4;
  std::optional<std::size_t> chosen_;
  std::array<unsigned, kMaxSources> streak_{};
};

// Returns whether two sources cover adjacent intervals. PCM's values are up to two seconds old, all others are current:
// when one replaces the other, these seconds would be missing or counted twice.
bool meets(std::optional<EnergySource> before, std::optional<EnergySource> now);

class EnergyMeter {
 public:
  // Opens every source and all of its counters. Never fails: findings() reports lost sources.
  // `perf`: replaces the kernel's performance counters in a test.
  static EnergyMeter open_(const AgentConfig& config, const std::optional<PerfPort>& perf = std::nullopt);
  EnergyMeter(EnergyMeter&&) noexcept = default;
  EnergyMeter& operator=(EnergyMeter&&) noexcept = default;

  // Reads the interval since the last call; the first call returns no energy. `utilisation_ratio`: of the node over the
  // interval.
  const EnergyInterval& read(const Clock& clock, std::optional<double> utilisation_ratio, std::span<char> scratch,
                             CollectErrors& errors);
  // Call when the number of CPUs that are online may have changed.
  void use_cores(double cores);
  // Includes the counters that are in doubt now.
  const std::vector<Finding>& findings() const { return findings_; }
  const PowerModel& power_model() const { return model_; }
  // For doctor: reports the counters that do not change within kStandsStill.
  void look_for_still_counters();
  // Returns the readings of every source at the last read(), whether in the sum or not; omits sources without readings.
  EveryReading every_reading() const;

 private:
  static constexpr std::size_t kSources = 4, kKinds = 6;
  // Sources in the order of preference.
  static constexpr std::array<EnergySource, kSources> kOrder{EnergySource::rapl, EnergySource::perf, EnergySource::pcm,
                                                             EnergySource::hwmon};
  struct Idle {
    std::optional<unsigned> package;
    EnergySource source = EnergySource::none;
    IdlePower power;
  };

  EnergyMeter() = default;
  void open_sources(const AgentConfig& config, const std::optional<PerfPort>& perf);
  void look_for_rapl(MonoTime now, CollectErrors& errors);
  static bool of_hwmon(std::size_t source) { return kOrder[source] == EnergySource::hwmon; }
  void choose();
  void note_findings();
  std::string measured_by(std::span<const EnergyDoubt> doubts);
  void report_domains();
  void add_up();
  bool add_packages();
  bool add_platform();
  void add_remainder(std::uint64_t packages_uj);
  void estimate(std::optional<double> utilisation_ratio, Duration interval);
  void set_idle(std::optional<double> utilisation_ratio, Duration interval);
  bool knows(EnergyKind kind) const;
  std::optional<std::size_t> used(EnergyKind kind) const { return used_[static_cast<std::size_t>(kind)]; }

  std::optional<Rapl> rapl_;
  std::optional<PerfEnergy> perf_;
  std::unique_ptr<Pcm> pcm_;
  std::optional<Hwmon> hwmon_;
  EnergyCheck check_;
  std::vector<EnergyDoubt> noted_;  // doubts that findings_ contains
  PowerModel model_;
  double cores_ = 1;
  bool model_scales_ = true;  // with the number of CPUs
  std::optional<double> configured_idle_w_;
  std::vector<Finding> findings_, found_at_start_;

  std::array<EnergyReadings, kSources> readings_;
  std::array<EnergyChoice, kKinds> choices_;
  std::array<std::optional<std::size_t>, kKinds> used_;
  bool meets_ = true;  // each kind in the sum continues where the previous interval ended
  Roots roots_;
  std::optional<MonoTime> looked_at_;
  std::uint64_t platform_debt_uj_ = 0;
  std::vector<Idle> idle_;
  std::optional<MonoTime> at_;
  EnergyInterval interval_;
};

// Opens all sources, and reads counters for up to kStandsStill until each has changed.
inline constexpr Duration kStandsStill = std::chrono::milliseconds(1200);
std::vector<Finding> examine_energy(const AgentConfig& config);

}  // namespace wattle::agent
