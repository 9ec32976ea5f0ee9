// drive: acts as a kube-scheduler over the real extender protocol: keeps a window of pods, deletes the oldest, creates
// one.
// Rules    those of sim/live/placer. A pod that fits on no node that is awake waits. A pod on this machine goes into a
//          cgroup with real load
// Pairing  places the same pods with the same arrivals and removals a second time by only default scoring, in the
//          ledger only. Joules and latency of both follow from the same curves, background loads and latencies
//          (sim/live/ledger). With a twin, a third time by a Wattle that does not learn, on separate simulated nodes (a
//          swarm with the same seed), to show what learning contributes. A pod that runs on this machine runs there
//          in both
// Errors   start: unavailable (no swarm); later a component that does not answer is counted, and the churn continues
// Threads  single owner
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "sim/live/cgroup_pods.hpp"
#include "sim/live/placer.hpp"
#include "sim/world/workload.hpp"

namespace wattle::sim::live {

struct DriveOptions : Placer::Addresses {
  std::optional<Placer::Addresses> twin;
  double run_s = 90;
  std::size_t pods = 30;
  double period_s = 0.5;  // between two replacements
  std::uint64_t seed = 1;
  std::int64_t weight = 6;
  std::chrono::milliseconds deadline{200};
  std::string real_node;  // empty: this machine takes no pods
};

class Driver {
 public:
  // `real` may be empty. The clock also names this run.
  Driver(const DriveOptions& options, std::optional<CgroupPods> real, const Clock& clock, const Log& log);
  // Reads the swarm's nodes. Retry while it is unavailable.
  Status begin();
  // Executes due steps and returns the time of the next one.
  MonoTime step();
  bool over() const { return clock_.mono() >= end_; }
  // Removes all pods and closes the accounts.
  void finish();

  double elapsed_s() const;
  double left_s() const { return seconds(end_ - clock_.mono()); }
  const DriveOptions& options() const { return options_; }
  const std::vector<DriveNode>& nodes() const { return wattle_.nodes(); }
  const Ledger& wattle() const { return wattle_.ledger(); }
  const Ledger& by_default() const { return *default_; }
  const Placer* twin() const { return twin_ ? &*twin_ : nullptr; }
  const Extender& extender() const { return wattle_.extender(); }
  const Observer& observer() const { return wattle_.observer(); }
  std::size_t running() const { return window_.size(); }

  struct Counts {
    std::uint64_t removed = 0, on_real = 0, pinned = 0;
    std::uint64_t unschedulable = 0;  // pods that had to wait for a node
    std::uint64_t real_failures = 0;
  };
  const Counts& counts() const { return counts_; }
  const Placer& placer() const { return wattle_; }

  // Phases of a run: the controller only advises, acts, acts with what it has learned here, or lets nodes sleep.
  static constexpr std::array<const char*, 4> kPhases{"default scheduler", "Wattle places", "what was learned",
                                                      "idle nodes sleep"};
  static constexpr std::size_t kLearned = 2, kSleeping = 3;
  struct PhaseCosts {
    double seconds = 0, energy_j = 0, default_energy_j = 0, twin_energy_j = 0, soft_pod_seconds = 0,
           default_soft_pod_seconds = 0;
  };
  const std::array<PhaseCosts, kPhases.size()>& phases() const { return phases_; }
  std::size_t phase() const;

 private:
  struct Bound {
    std::string uid;
    bool real = false;  // on this machine
  };
  struct Arrived {
    SimPod pod;
    KubePod request;
    LedgerPod ledger_pod;
  };
  void look();
  void replace_one();
  Arrived arrive();
  void create();
  void remove_oldest();
  std::optional<std::size_t> pinned_node() const;
  void account(MonoTime now);
  DriveNode this_machine() const;

  DriveOptions options_;
  std::optional<CgroupPods> real_;
  const Clock& clock_;
  const Log& log_;
  std::uint64_t run_;
  Placer wattle_;
  std::optional<Placer> twin_;
  std::optional<Ledger> default_;
  Workload workload_;
  std::mt19937_64 random_default_;
  std::deque<Bound> window_;
  std::optional<Arrived> waiting_;  // fits on no node that is awake
  std::uint32_t created_ = 0;
  bool real_usable_ = true;
  MonoTime started_{}, end_{}, accounted_{}, next_pod_{}, next_look_{};
  Counts counts_;
  std::array<PhaseCosts, kPhases.size()> phases_{};
};

}  // namespace wattle::sim::live
