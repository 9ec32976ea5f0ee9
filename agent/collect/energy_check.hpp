// Checks the reading of every energy source over one interval and withholds values that cannot be energy.
// Rules    still      a package, its cores or its DRAM counts nothing for 2 s in which the CPUs used a core-second.
//                     Until then a reading of 0 is a lower bound. The counter is trusted again after it has changed in
//                     kReturnAfter intervals
//                     A power meter (hwmon) shows exactly one value for two minutes and three of its averaging times,
//                     while the mean use of half a minute changes by a quarter of the CPUs
//          backwards  the counter fell and did not wrap; found by the source (DomainEnergy::fault)
//          jump       above the possible power; found by the source, or here by the maximum for that kind of part
//          disagrees  two sources of one kind differ by more than a factor of two and 5 W, or packages exceed the meter
//                     of the whole system, over 3 s (30 s with PCM, whose values are late; longer if a meter averages).
//                     Both are withheld, unless a third source agrees with one
//          A platform counter (psys) may step by a joule: it counts as still after 10 s, and only where no package
//          counts. An integrated GPU (uncore) may be off
// Gives    DomainEnergy::fault, with energy_uj unset; each reason once per interval in `errors`
// Units    uJ; busy time in core-seconds
// Threads  single owner
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/collect/energy_reading.hpp"
#include "common/clock.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

inline constexpr std::string_view kUncounted =
    "cannot be counted: its energy_uj or max_energy_range_uj is missing or unreadable";

// Report about a counter that does not advance, runs backwards, jumps or disagrees.
struct EnergyDoubt {
  EnergySource source = EnergySource::none;
  EnergyKind kind = EnergyKind::other;
  std::string label, why;

  bool operator==(const EnergyDoubt&) const = default;
};

class EnergyCheck {
 public:
  explicit EnergyCheck(double cores = 1) : cores_(cores) {}
  void use_cores(double cores) { cores_ = cores; }
  using Source = std::pair<EnergySource, EnergyReadings*>;
  // `busy_core_s`: of all CPUs over the interval; no value if unknown, and then no counter is judged still.
  // `meter_lag`: the longest averaging time of a meter of the whole system.
  void judge(std::span<const Source> sources, Duration interval, std::optional<double> busy_core_s, Duration meter_lag,
             CollectErrors& errors);
  // The doubts of the last interval.
  const std::vector<EnergyDoubt>& doubts() const { return doubts_; }
  bool withheld(EnergyKind kind) const;

 private:
  struct Counter {
    Duration still_for{};
    double busy_core_s = 0;
    bool still = false;
    unsigned moved = 0;  // consecutive intervals since it last did not advance
  };
  // A meter's reading, how long it has been the same, and the CPU use meanwhile.
  struct Shown {
    double power_w = -1;
    Duration same_for{}, window{};
    double window_core_s = 0;
    std::optional<double> least_cores, most_cores;  // means of windows
  };
  struct Pair {
    double one_uj = 0, other_uj = 0;
    Duration over{};
    std::optional<bool> agree;  // result of the last sufficiently long comparison
    double one_w = 0, other_w = 0;
  };
  using PairKey = std::pair<EnergySource, EnergySource>;

  void judge_counter(EnergySource source, DomainEnergy& domain, Duration interval, std::optional<double> busy_core_s);
  void judge_meter(EnergySource source, DomainEnergy& domain, Duration interval, std::optional<double> busy_core_s,
                   Duration meter_lag);
  // `is_used`: the value would be in the sum.
  void judge_still(EnergySource source, DomainEnergy& domain, Duration interval, std::optional<double> busy_core_s,
                   bool is_used);
  void compare(std::span<const Source> sources, EnergyKind kind, Duration interval);
  void compare_with_system(std::span<const Source> sources, Duration interval, Duration meter_lag);
  void withhold(EnergySource source, DomainEnergy& domain, EnergyFault fault, std::string why);

  double cores_;
  std::map<std::pair<EnergySource, std::string>, Counter> counters_;
  std::map<std::string, Shown> meters_;
  std::array<std::map<PairKey, Pair>, 2> pairs_;  // package, DRAM
  Pair system_;                                   // packages, and the meter of the whole system
  std::vector<EnergyDoubt> doubts_;
};

inline constexpr Duration kStill_after = std::chrono::seconds(2);
inline constexpr Duration kPlatformStill_after = std::chrono::seconds(10);
inline constexpr double kStill_busy_core_s = 1;
inline constexpr Duration kFrozen_after = std::chrono::seconds(120), kFrozen_window = std::chrono::seconds(30);
inline constexpr double kFrozen_cpu_ratio = 0.25;
// Number of consecutive good intervals after which a source or counter is used again.
inline constexpr unsigned kReturnAfter = 5;

}  // namespace wattle::agent
