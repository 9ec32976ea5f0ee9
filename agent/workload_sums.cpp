#include "agent/workload_sums.hpp"

#include <algorithm>
#include <cmath>

#include "agent/metrics_text.hpp"

namespace wattle::agent {

namespace {
constexpr std::int64_t kMinute_ns = 60'000'000'000;
// A folded workload replaces a listed one if its usage is this much higher.
constexpr std::uint64_t kLeadPercent = 150;

std::optional<std::uint64_t> rounded(double value) {
  if (!(value >= 0) || value > 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(value));
}

// Converts the share of an interval to time; the sum over intervals equals the increase of the kernel's own total.
std::optional<std::uint64_t> stalled_us(std::optional<double> ratio, std::int64_t interval_ns) {
  return ratio ? rounded(*ratio * static_cast<double>(interval_ns) / 1e3) : std::nullopt;
}
}  // namespace

void add_kernel(const KernelValues& kernel, Counters& to) {
  to.add(Counter::run_queue_us, kernel.run_queue_us);
  to.add(Counter::run_queue_waits, kernel.run_queue_waits);
  // Adds sum and count, so that a mean over any period can be computed from them.
  if (kernel.tcp_srtt_us && kernel.tcp_srtt_samples) {
    if (const auto sum_us = rounded(*kernel.tcp_srtt_us * static_cast<double>(*kernel.tcp_srtt_samples))) {
      to.add(Counter::tcp_srtt_us, sum_us);
      to.add(Counter::tcp_srtt_samples, kernel.tcp_srtt_samples);
    }
  }
  to.add(Counter::block_io_us, kernel.block_io_us);
  to.add(Counter::block_ios, kernel.block_ios);
}

void Energy::add(const Energy& other) {
  for (std::size_t i = 0; i < by_source_.size(); ++i) {
    by_source_[i].now_uj += other.by_source_[i].now_uj;
    by_source_[i].shown_uj += other.by_source_[i].shown_uj;
    by_source_[i].reported = by_source_[i].reported || other.by_source_[i].reported;
    by_source_[i].shown = by_source_[i].shown || other.by_source_[i].shown;
  }
}

void WorkloadSums::observe(const Record& record) {
  ++seen_;
  drop_ended(record.mono_ns - kMinute_ns);
  next_ = 0;
  for (const auto& workload : record.workloads) add(workload, record);
  // A whole record lists all running workloads, so a missing one has ended.
  if (!record.partial)
    for (auto& workload : all_)
      if (workload.seen != seen_ && workload.ended_at_ns == 0)
        workload.ended_at_ns = std::max<std::int64_t>(1, record.mono_ns);
  if (folded_count() > 0 && record.mono_ns - chosen_at_ns_ >= kMinute_ns) {
    chosen_at_ns_ = record.mono_ns;
    choose();
  }
}

SummedWorkload& WorkloadSums::find(const WorkloadValues& workload, std::size_t expected) {
  // Workloads mostly arrive in the same order as before.
  if (next_ < all_.size() && all_[next_].cgroup_id == workload.cgroup_id) return all_[next_++];
  const auto [known, is_new] = index_.emplace(workload.cgroup_id, all_.size());
  next_ = known->second + 1;
  if (!is_new) return all_[known->second];
  // The workload that ended first makes room for a running one.
  if (listed_ >= max_listed_) {
    const SummedWorkload* oldest = nullptr;
    for (const auto& one : all_)
      if (one.sums && one.ended_at_ns != 0 && (!oldest || one.ended_at_ns < oldest->ended_at_ns)) oldest = &one;
    if (oldest) {
      erase(static_cast<std::size_t>(oldest - all_.data()));
      index_[workload.cgroup_id] = all_.size();
    }
  }
  // Grows by an eighth: doubling would take megabytes.
  if (all_.size() == all_.capacity()) all_.reserve(std::max(expected, all_.size() * 9 / 8 + 8));
  SummedWorkload& one = all_.emplace_back();
  one.cgroup_id = workload.cgroup_id;
  one.kind = workload.kind;
  one.name = workload.name;
  if (listed_ < max_listed_) list(one);
  return one;
}

void WorkloadSums::add(const WorkloadValues& workload, const Record& record) {
  SummedWorkload& one = find(workload, record.workloads.size());
  one.seen = seen_;
  one.ended_at_ns = workload.ended ? std::max<std::int64_t>(1, record.mono_ns) : 0;
  one.recent_us += workload.cpu_usage_us.value_or(0);

  Sums& sums = one.sums ? *one.sums : folded_;
  sums.energy.add(record.node.energy_source, workload.energy_uj);
  Counters& to = sums.counters;
  to.add(Counter::cpu_us, workload.cpu_usage_us);
  to.add(Counter::cpu_throttled_us, workload.cpu_throttled_us);
  to.add(Counter::io_read_bytes, workload.io_read_bytes);
  to.add(Counter::io_write_bytes, workload.io_write_bytes);
  to.add(Counter::memory_oom_kills, workload.memory_oom_kills);
  const Pressure& p = workload.pressure;
  to.add(Counter::cpu_some_us, stalled_us(p.cpu_some_ratio, record.interval_ns));
  to.add(Counter::cpu_full_us, stalled_us(p.cpu_full_ratio, record.interval_ns));
  to.add(Counter::memory_some_us, stalled_us(p.memory_some_ratio, record.interval_ns));
  to.add(Counter::memory_full_us, stalled_us(p.memory_full_ratio, record.interval_ns));
  to.add(Counter::io_some_us, stalled_us(p.io_some_ratio, record.interval_ns));
  to.add(Counter::io_full_us, stalled_us(p.io_full_ratio, record.interval_ns));
  add_kernel(workload.kernel, to);

  one.gauges.set(Gauge::memory_bytes, workload.memory_bytes);
  one.gauges.set(Gauge::pids, workload.pids);
}

void WorkloadSums::list(SummedWorkload& workload) {
  workload.sums = std::make_unique<Sums>();
  std::string& labels = workload.sums->labels;
  add_label(labels, "kind", to_string(workload.kind));
  add_label(labels, "name", workload.name);
  add_label(labels, "cgroup", std::to_string(workload.cgroup_id));
  ++listed_;
}

void WorkloadSums::unlist(SummedWorkload& workload) {
  left_.add(workload.sums->energy);
  workload.sums.reset();
  --listed_;
}

void WorkloadSums::erase(std::size_t index) {
  if (all_[index].sums) unlist(all_[index]);
  index_.erase(all_[index].cgroup_id);
  if (index + 1 < all_.size()) {
    all_[index] = std::move(all_.back());
    index_[all_[index].cgroup_id] = index;
  }
  all_.pop_back();
}

void WorkloadSums::drop_ended(std::int64_t before_ns) {
  for (std::size_t i = 0; i < all_.size();) {
    const auto& one = all_[i];
    if (one.ended_at_ns != 0 && (!one.sums || one.ended_at_ns <= before_ns))
      erase(i);
    else
      ++i;
  }
}

void WorkloadSums::choose() {
  std::vector<SummedWorkload*> listed, folded;
  for (auto& one : all_) {
    one.use_us = one.use_us / 2 + one.recent_us;
    one.recent_us = 0;
    if (one.ended_at_ns == 0) (one.sums ? listed : folded).push_back(&one);
  }
  std::sort(listed.begin(), listed.end(), [](const auto* a, const auto* b) { return a->use_us < b->use_us; });
  std::sort(folded.begin(), folded.end(), [](const auto* a, const auto* b) { return a->use_us > b->use_us; });
  auto least = listed.begin();
  for (auto* candidate : folded) {
    if (listed_ >= max_listed_) {
      if (least == listed.end() || candidate->use_us * 100 <= (*least)->use_us * kLeadPercent) return;
      unlist(**least++);
    }
    list(*candidate);
  }
}

void WorkloadSums::show_energy() {
  for (auto& one : all_)
    if (one.sums) one.sums->energy.show();
  folded_.energy.show();
  left_.show();
}

Gauges WorkloadSums::folded_gauges() const {
  Gauges sum;
  for (const auto& one : all_)
    if (!one.sums && one.ended_at_ns == 0) sum.add(one.gauges);
  return sum;
}

}  // namespace wattle::agent
