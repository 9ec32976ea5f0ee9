// accept: judges this machine's energy counters by a run with known loads, alone and together, and reports the verdict.
// Source   the sampler's ticks, and the readings of every energy source at each tick, including those that are not in
//          the sum
// Gives    per phase power and usage; conservation, tick by tick; counters against each other; loads together against
//          separate loads; attribution; the agent's own cost. The report is text to read and JSON to post, without
//          names of machines, users or workloads and without addresses
// Units    watts, seconds, cores; energy in integer microjoules
// Threads  values; single owner
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/finding.hpp"
#include "agent/sampler.hpp"

namespace wattle::agent {

// The loads: integer work in registers, and memory that exceeds the caches. Each is a workload with its own name if a
// cgroup can be made.
inline constexpr std::array<std::string_view, 2> kLoadNames{"cpu", "memory"};

struct AcceptPhase {
  std::string_view name;
  std::array<bool, 2> loads{};  // as kLoadNames
};
inline constexpr std::array<AcceptPhase, 5> kAcceptPhases{
    AcceptPhase{"idle", {}}, AcceptPhase{"cpu", {true, false}}, AcceptPhase{"memory", {false, true}},
    AcceptPhase{"together", {true, true}}, AcceptPhase{"idle again", {}}};

struct PhaseSums {
  std::uint64_t ticks = 0;
  double seconds = 0, used_core_seconds = 0;
  std::uint64_t energy_uj = 0, energy_ticks = 0, idle_uj = 0, unattributed_uj = 0, workloads_uj = 0;
  std::array<std::uint64_t, 2> load_uj{};
  std::array<std::uint64_t, 2> load_usage_us{};
  // Sums by source and kind of domain ("rapl package"): only ticks with complete readings of all domains of that kind.
  std::map<std::string, std::pair<std::uint64_t, double>> by_source;  // uJ, seconds
  double own_cpu_s = 0;

  std::optional<double> power_w() const;
};

class AcceptTally {
 public:
  AcceptTally(std::vector<Finding> findings, std::string processor, std::string kernel)
      : findings_(std::move(findings)), processor_(std::move(processor)), kernel_(std::move(kernel)) {}
  // `phase`: index into kAcceptPhases; `all`: readings of every source at this tick; `own_cpu_s`: of this process since
  // its start.
  void take(std::size_t phase, const Sample& sample, const EveryReading& all, double own_cpu_s);
  // Call if a load could not get its own workload; `why` is the reason.
  void without_workloads(std::string why) { no_workloads_ = std::move(why); }
  // Call if no load ran, so that the phases prove nothing about loads.
  void without_loads(const std::string& why) { no_loads_ = no_workloads_ = why; }
  void own_memory(std::uint64_t bytes) { own_memory_bytes_ = bytes; }

  std::string json() const;
  std::string text() const;
  // Returns true if no check failed; skipped checks do not count.
  bool accepted() const;

 private:
  struct Verdict {
    std::string what, found;
    std::optional<bool> good;  // no value: skipped
  };
  std::vector<Verdict> verdicts() const;
  Verdict conserved() const;
  std::vector<Verdict> counters() const;
  Verdict additive() const;
  std::vector<Verdict> attributed() const;
  Verdict own_cost() const;
  PhaseSums all_phases() const;

  std::vector<Finding> findings_;
  std::string processor_, kernel_, no_workloads_, no_loads_;
  std::array<PhaseSums, kAcceptPhases.size()> phases_;
  EnergySource source_ = EnergySource::none;
  std::uint64_t looked_at_ = 0, not_conserved_ = 0, own_memory_bytes_ = 0;
  double own_cpu_s_ = -1;
};

}  // namespace wattle::agent
