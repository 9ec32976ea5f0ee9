#include "agent/bpf/signal_sums.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

namespace wattle::agent {

namespace {
constexpr std::uint32_t kQuiet_reads = 60;  // a removed cgroup without activity for this many reads loses its slot
constexpr std::uint32_t kUnknown_reads =
    3;  // the tree finds a new cgroup at the next tick; a cgroup that it does not find has no root
constexpr int kLooks = 4;
constexpr int kMostWaits = 20'000;  // for the end of a switch, which takes less than a microsecond

std::uint64_t load(const unsigned long long& from) {
  // The kernel writes concurrently: reads whole words, in order.
  return __atomic_load_n(&from, __ATOMIC_ACQUIRE);
}

bool in_switch(std::uint64_t switches) { return switches % 2 != 0; }

std::uint64_t gain(std::uint64_t before, std::uint64_t now) { return now > before ? now - before : 0; }

// Same hash as in slots.bpf.h.
std::array<std::size_t, 2> buckets_of(std::uint64_t id, std::size_t buckets) {
  const std::uint64_t hash = id * 0x9e3779b97f4a7c15ull;
  const int bits = std::countr_zero(buckets);
  return {bits == 0 ? 0 : static_cast<std::size_t>(hash >> (64 - bits)),
          static_cast<std::size_t>(hash >> 8) & (buckets - 1)};
}

bool same(const wattle_counters& a, const wattle_counters& b) {
  return a.on_cpu_ns == b.on_cpu_ns && a.waits == b.waits && a.cycles == b.cycles && a.srtt_samples == b.srtt_samples &&
         a.blocks == b.blocks;
}
}  // namespace

bool RootIndex::finish() {
  if (walked_ == reported_) return false;
  std::swap(walked_, reported_);
  std::swap(roots_, before_);
  roots_ = reported_;
  std::sort(roots_.begin(), roots_.end());
  return true;
}

std::optional<std::uint64_t> RootIndex::find(const Entries& sorted, std::uint64_t cgroup_id) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), std::pair{cgroup_id, std::uint64_t{0}});
  if (found == sorted.end() || found->first != cgroup_id) return std::nullopt;
  return found->second;
}
std::optional<std::uint64_t> RootIndex::root_of(std::uint64_t cgroup_id) const { return find(roots_, cgroup_id); }
std::optional<std::uint64_t> RootIndex::root_before(std::uint64_t cgroup_id) const { return find(before_, cgroup_id); }

SignalSums::SignalSums(SignalTable table)
    : table_(table),
      last_(table.counters.size()),
      slots_(table.slots()),
      switches_(table.cpus.size()),
      runs_(table.cpus.size()),
      runs_before_(table.cpus.size()) {
  node_.on_cpu_ns.resize(table.packages);
  node_.cycles.resize(table.packages);
}

const SignalTotals* SignalSums::root(std::uint64_t root_id) const {
  const auto found = roots_.find(root_id);
  return found == roots_.end() ? nullptr : &found->second;
}

// The kernel reports stolen time in ticks, after it was taken.
void SignalSums::note_stolen(std::uint64_t now_ns, std::span<const std::uint64_t> stolen_us) {
  interval_ns_ = read_at_ns_ == 0 ? 0 : gain(read_at_ns_, now_ns);
  read_at_ns_ = now_ns;
  stolen_ns_.assign(stolen_us.size(), 0);
  for (std::size_t cpu = 0; cpu < std::min(stolen_us.size(), stolen_us_.size()); ++cpu)
    stolen_ns_[cpu] = 1000 * gain(stolen_us_[cpu], stolen_us[cpu]);
  stolen_us_.assign(stolen_us.begin(), stolen_us.end());
  std::swap(runs_, runs_before_);
}

// Returns the time on CPU of an unfinished run. The time stolen in this interval belongs to the run in proportion to
// its part of the interval.
std::uint64_t SignalSums::without_stolen(std::size_t cpu, std::uint64_t in_at_ns, std::uint64_t now_ns) {
  const std::uint64_t run_ns = gain(in_at_ns, now_ns);
  if (cpu >= stolen_ns_.size()) return run_ns;
  Run run{in_at_ns, stolen_ns_[cpu]};
  if (runs_before_[cpu].in_at_ns == in_at_ns)
    run.stolen_ns += runs_before_[cpu].stolen_ns;
  else if (run_ns < interval_ns_)
    run.stolen_ns = static_cast<std::uint64_t>(static_cast<double>(run.stolen_ns) * static_cast<double>(run_ns) /
                                               static_cast<double>(interval_ns_));
  runs_[cpu] = run;
  return gain(run.stolen_ns, run_ns);
}

// Adds running tasks, which are not in the counters yet. The counters and the start time of a running cgroup are
// consistent only if no CPU switched between two readings. During a switch, the run that ends is neither among the
// running tasks nor in the counters.
void SignalSums::look_at_cpus(std::uint64_t now_ns, const CyclesNow& cycles_now) {
  const std::size_t row = table_.slots() + WATTLE_EXTRA_SLOTS;
  int waits = 0;
  for (int look = 0; look < kLooks; ++look) {
    running_.clear();
    std::ranges::fill(runs_, Run{});
    for (std::size_t cpu = 0; cpu < table_.cpus.size(); ++cpu) {
      const wattle_cpu& state = table_.cpus[cpu];
      while (in_switch(switches_[cpu] = load(state.switches)) && waits < kMostWaits) ++waits;
      const std::uint64_t in_at = load(state.in_at_ns);
      if (in_at == 0) continue;
      const std::uint32_t slot = __atomic_load_n(&state.slot, __ATOMIC_RELAXED);
      const std::size_t index = state.package * row + slot;
      if (slot >= row || index >= last_.size()) continue;
      std::uint64_t cycles = 0;
      if (cycles_now)
        if (const auto now = cycles_now(cpu)) cycles = gain(state.cycles_at_in, *now);
      running_.push_back({index, without_stolen(cpu, in_at, now_ns), cycles, slot});
    }
    std::sort(running_.begin(), running_.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (kept > 0 && running_[kept - 1].index == running_[i].index) {
        running_[kept - 1].on_cpu_ns += running_[i].on_cpu_ns;
        running_[kept - 1].cycles += running_[i].cycles;
      } else {
        running_[kept++] = running_[i];
      }
    }
    running_.resize(kept);
    for (Running& one : running_) {
      one.on_cpu_ns += load(table_.counters[one.index].on_cpu_ns);
      one.cycles += load(table_.counters[one.index].cycles);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    bool calm = true;
    for (std::size_t cpu = 0; cpu < table_.cpus.size(); ++cpu)
      calm = calm && !in_switch(switches_[cpu]) && load(table_.cpus[cpu].switches) == switches_[cpu];
    if (calm) return;
  }
  // Tasks switch faster than the readings: their runs are short, and the next read includes them.
}

wattle_counters SignalSums::value_at(std::size_t index) const {
  const wattle_counters& from = table_.counters[index];
  wattle_counters value{load(from.on_cpu_ns), load(from.run_delay_ns), load(from.waits),    load(from.cycles),
                        load(from.srtt_us),   load(from.srtt_samples), load(from.block_ns), load(from.blocks)};
  const auto running = std::lower_bound(running_.begin(), running_.end(), index,
                                        [](const Running& a, std::size_t b) { return a.index < b; });
  if (running != running_.end() && running->index == index) {
    value.on_cpu_ns = running->on_cpu_ns;
    value.cycles = running->cycles;
  }
  // Reported time never decreases, even if a run turns out shorter (interrupts are not part of it).
  value.on_cpu_ns = std::max<std::uint64_t>(value.on_cpu_ns, last_[index].on_cpu_ns);
  value.cycles = std::max<std::uint64_t>(value.cycles, last_[index].cycles);
  return value;
}

void SignalSums::sum(SignalTotals& to, std::size_t package, const wattle_counters& before,
                     const wattle_counters& now) const {
  to.on_cpu_ns.resize(table_.packages);
  to.cycles.resize(table_.packages);
  to.on_cpu_ns[package] += gain(before.on_cpu_ns, now.on_cpu_ns);
  to.cycles[package] += gain(before.cycles, now.cycles);
  to.run_delay_ns += gain(before.run_delay_ns, now.run_delay_ns);
  to.waits += gain(before.waits, now.waits);
  to.srtt_us += gain(before.srtt_us, now.srtt_us);
  to.srtt_samples += gain(before.srtt_samples, now.srtt_samples);
  to.block_ns += gain(before.block_ns, now.block_ns);
  to.blocks += gain(before.blocks, now.blocks);
}

void SignalSums::find_root(std::size_t slot, const RootIndex& roots) {
  Slot& state = slots_[slot];
  auto root = roots.root_of(state.cgroup_id);
  if (!root && state.root) return;  // removed, but keeps its root
  if (!root) root = roots.root_before(state.cgroup_id);
  for (std::size_t i = 0; !root && i < WATTLE_PARENTS; ++i)
    if (const auto parent = load(table_.parents[slot].id[i]); parent != 0) root = roots.root_of(parent);
  if (root) state.root = root;
}

void SignalSums::read(std::uint64_t now_ns, const RootIndex& roots, bool roots_changed, const CyclesNow& cycles_now,
                      std::span<const std::uint64_t> stolen_us) {
  const std::size_t row = table_.slots() + WATTLE_EXTRA_SLOTS;
  running_.clear();
  note_stolen(now_ns, stolen_us);
  look_at_cpus(now_ns, cycles_now);

  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const auto id = load(table_.buckets[slot / WATTLE_BUCKET_WAYS].id[slot % WATTLE_BUCKET_WAYS]);
    Slot& state = slots_[slot];
    if (id == 0 && state.cgroup_id == 0) continue;
    if (id != state.cgroup_id) {
      unclaimed_.erase(slot);
      state = Slot{id, {}, 0, 0};
    }
    if (id == 0) continue;
    if (!state.root || roots_changed) find_root(slot, roots);
    if (!state.root && ++state.unknown_reads > kUnknown_reads) state.root = RootIndex::kNobody;
    if (state.root) claim(slot);
    bool quiet = true;
    SignalTotals* to = nullptr;
    for (std::size_t package = 0; package < table_.packages; ++package) {
      const std::size_t index = package * row + slot;
      const auto now = value_at(index);
      if (same(now, last_[index])) continue;
      quiet = false;
      if (to == nullptr && !state.root) to = &unclaimed_[slot];
      if (to == nullptr && *state.root != RootIndex::kNobody) to = &roots_[*state.root];
      if (to != nullptr) sum(*to, package, last_[index], now);
      sum(node_, package, last_[index], now);
      last_[index] = now;
    }
    state.quiet_reads = quiet ? state.quiet_reads + 1 : 0;
    if (state.quiet_reads >= kQuiet_reads) evict(slot, roots);
  }
  for (std::size_t package = 0; package < table_.packages; ++package) {
    for (std::size_t extra = 0; extra < WATTLE_EXTRA_SLOTS; ++extra) {
      const std::size_t index = package * row + table_.slots() + extra;
      const auto now = value_at(index);
      if (extra == 0)
        overflows_ += gain(last_[index].waits + last_[index].srtt_samples + last_[index].blocks,
                           now.waits + now.srtt_samples + now.blocks);
      sum(node_, package, last_[index], now);
      last_[index] = now;
    }
  }
}

std::optional<std::uint64_t> SignalSums::unread_on_cpu_ns(std::uint64_t cgroup_id) const {
  if (table_.cpus.empty() || cgroup_id == 0) return std::nullopt;
  const std::size_t row = table_.slots() + WATTLE_EXTRA_SLOTS;
  for (const std::size_t bucket : buckets_of(cgroup_id, table_.buckets.size()))
    for (std::size_t way = 0; way < WATTLE_BUCKET_WAYS; ++way) {
      if (load(table_.buckets[bucket].id[way]) != cgroup_id) continue;
      std::uint64_t sum_ns = 0;
      if (const auto found = unclaimed_.find(bucket * WATTLE_BUCKET_WAYS + way); found != unclaimed_.end())
        for (const auto ns : found->second.on_cpu_ns) sum_ns += ns;
      for (std::size_t package = 0; package < table_.packages; ++package) {
        const std::size_t index = package * row + bucket * WATTLE_BUCKET_WAYS + way;
        sum_ns += gain(last_[index].on_cpu_ns, load(table_.counters[index].on_cpu_ns));
      }
      return sum_ns;
    }
  std::uint64_t crowded = overflows_;
  for (std::size_t package = 0; package < table_.packages; ++package)
    crowded +=
        gain(last_[package * row + table_.slots()].waits, load(table_.counters[package * row + table_.slots()].waits));
  if (crowded > 0) return std::nullopt;
  return 0;  // it never ran
}

// Adds the counts of the slot's cgroup from before its root was known.
void SignalSums::claim(std::size_t slot) {
  const auto found = unclaimed_.find(slot);
  if (found == unclaimed_.end()) return;
  if (const auto root = *slots_[slot].root; root != RootIndex::kNobody) {
    SignalTotals& to = roots_[root];
    to.on_cpu_ns.resize(table_.packages);
    to.cycles.resize(table_.packages);
    const SignalTotals& from = found->second;
    for (std::size_t package = 0; package < table_.packages; ++package) {
      to.on_cpu_ns[package] += from.on_cpu_ns[package];
      to.cycles[package] += from.cycles[package];
    }
    to.run_delay_ns += from.run_delay_ns;
    to.waits += from.waits;
    to.srtt_us += from.srtt_us;
    to.srtt_samples += from.srtt_samples;
    to.block_ns += from.block_ns;
    to.blocks += from.blocks;
  }
  unclaimed_.erase(found);
}

void SignalSums::evict(std::size_t slot, const RootIndex& roots) {
  Slot& state = slots_[slot];
  state.quiet_reads = 0;
  if (roots.root_of(state.cgroup_id)) return;
  if (std::any_of(running_.begin(), running_.end(), [&](const Running& one) { return one.slot == slot; })) return;
  __atomic_store_n(&table_.buckets[slot / WATTLE_BUCKET_WAYS].id[slot % WATTLE_BUCKET_WAYS], 0ull, __ATOMIC_RELEASE);
  state = Slot{};
}

}  // namespace wattle::agent
