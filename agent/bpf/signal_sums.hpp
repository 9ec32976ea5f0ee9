// signal_sums: sums the BPF programs' counters in the shared table (signal_slots.h) by workload root.
// Gives    sums since the start per root, per physical package where needed, and of the node. Running tasks are counted
//          up to the moment of the call. A removed cgroup keeps its root until all its counters are summed. Counters of
//          a cgroup whose root is still unknown count towards the node at once, and towards the root once it is known
// Units    ns, us, cycles as in their names
// Cost     checks every id, one cache line per living cgroup and package;  Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/bpf/signal_slots.h"

namespace wattle::agent {

// Maps each cgroup to its workload root.
class RootIndex {
 public:
  static constexpr std::uint64_t kNobody = 0;  // a known cgroup without a root

  // Call begin, add every cgroup in a stable order, then finish.
  void begin() { walked_.clear(); }
  void add(std::uint64_t cgroup_id, std::uint64_t root_id) { walked_.emplace_back(cgroup_id, root_id); }
  bool finish();  // true if the index has changed
  // No value if there is no such cgroup.
  std::optional<std::uint64_t> root_of(std::uint64_t cgroup_id) const;
  // Looks in the index before the last change, to find the root of a removed cgroup.
  std::optional<std::uint64_t> root_before(std::uint64_t cgroup_id) const;

 private:
  using Entries = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  static std::optional<std::uint64_t> find(const Entries& sorted, std::uint64_t cgroup_id);
  Entries walked_, reported_, roots_, before_;  // as added now, and before; sorted: now, and before the last change
};

// Views of the mapped table. The kernel writes bucket ids and counters concurrently.
struct SignalTable {
  std::span<wattle_bucket> buckets;
  std::span<const wattle_parents> parents;    // one per slot
  std::span<const wattle_counters> counters;  // packages * (slots + WATTLE_EXTRA_SLOTS)
  std::span<const wattle_cpu> cpus;           // empty: switches are not counted
  std::size_t packages = 1;

  std::size_t slots() const { return buckets.size() * WATTLE_BUCKET_WAYS; }
};

struct SignalTotals {
  std::vector<std::uint64_t> on_cpu_ns, cycles;  // per package
  std::uint64_t run_delay_ns = 0, waits = 0;
  std::uint64_t srtt_us = 0, srtt_samples = 0;
  std::uint64_t block_ns = 0, blocks = 0;
};

class SignalSums {
 public:
  // Returns the current value of a CPU's cycle counter; no value if not counted.
  using CyclesNow = std::function<std::optional<std::uint64_t>(std::size_t cpu)>;

  explicit SignalSums(SignalTable table);

  // `roots_changed`: the index differs from that of the previous call. `stolen_us`: time that a hypervisor took from
  // each CPU since the boot, which is not part of a task's time on CPU; empty: none.
  void read(std::uint64_t now_ns, const RootIndex& roots, bool roots_changed, const CyclesNow& cycles_now = {},
            std::span<const std::uint64_t> stolen_us = {});
  const SignalTotals& node() const { return node_; }
  // Null if nothing of that root has been counted yet.
  const SignalTotals* root(std::uint64_t root_id) const;
  // Time on CPU of a cgroup that read() has not summed yet; no value if switches are not counted, or if the cgroup may
  // have no slot.
  std::optional<std::uint64_t> unread_on_cpu_ns(std::uint64_t cgroup_id) const;
  // Drops counts without a root; call if previous counts should be ignored.
  void drop_unclaimed() { unclaimed_.clear(); }
  // Drops the sums of roots that no longer exist; call after they have been reported.
  void prune(const RootIndex& roots) {
    std::erase_if(roots_, [&](const auto& one) { return !roots.root_of(one.first); });
  }
  // Number of switches, round trips and requests of cgroups without a slot, since the start.
  std::uint64_t overflows() const { return overflows_; }

 private:
  struct Slot {
    std::uint64_t cgroup_id = 0;
    std::optional<std::uint64_t> root;
    std::uint32_t quiet_reads = 0;    // since its counters last changed
    std::uint32_t unknown_reads = 0;  // without a root
  };
  struct Running {
    std::size_t index;  // of the counters
    std::uint64_t on_cpu_ns, cycles;
    std::uint32_t slot;
  };
  // The run of a CPU that has not ended: its start, and the time stolen from it so far.
  struct Run {
    std::uint64_t in_at_ns = 0, stolen_ns = 0;
  };
  void look_at_cpus(std::uint64_t now_ns, const CyclesNow& cycles_now);
  void note_stolen(std::uint64_t now_ns, std::span<const std::uint64_t> stolen_us);
  std::uint64_t without_stolen(std::size_t cpu, std::uint64_t in_at_ns, std::uint64_t now_ns);
  void find_root(std::size_t slot, const RootIndex& roots);
  wattle_counters value_at(std::size_t index) const;
  void sum(SignalTotals& to, std::size_t package, const wattle_counters& from, const wattle_counters& to_now) const;
  void claim(std::size_t slot);
  void evict(std::size_t slot, const RootIndex& roots);

  SignalTable table_;
  std::vector<wattle_counters> last_;  // as table_.counters, when last summed
  std::vector<Slot> slots_;
  std::vector<Running> running_;
  std::vector<std::uint64_t> switches_;
  std::vector<Run> runs_, runs_before_;               // by CPU, at this reading and the one before
  std::vector<std::uint64_t> stolen_us_, stolen_ns_;  // by CPU: since the boot, and since the reading before
  std::uint64_t read_at_ns_ = 0, interval_ns_ = 0;
  std::unordered_map<std::uint64_t, SignalTotals> roots_;
  std::unordered_map<std::size_t, SignalTotals> unclaimed_;  // by slot, of cgroups whose root is not known yet
  SignalTotals node_;
  std::uint64_t overflows_ = 0;
};

}  // namespace wattle::agent
