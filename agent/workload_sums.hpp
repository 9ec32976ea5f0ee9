// workload_sums: sums each workload's usage since the agent's start, for counters that a scraper may read at any time.
// Source   the differences in each Record
// Gives    at most `max_listed` workloads individually; the others are folded into one sum, so that a node with many
//          cgroups does not overload a Prometheus. The selection follows CPU usage, with hysteresis, and changes at
//          most once a minute
// Units    us, bytes, cycles, counts, uJ
// Law      energy of listed + folded + left + idle + unattributed = the node's, to the microjoule, at every moment
// Cost     some additions per workload and record, and a hash lookup if the order changed;  Threads  single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/sample.hpp"

namespace wattle::agent {

// clang-format off
enum class Counter : std::uint8_t {
  cpu_us, cpu_throttled_us, io_read_bytes, io_write_bytes, memory_oom_kills,
  cpu_some_us, cpu_full_us, memory_some_us, memory_full_us, io_some_us, io_full_us,
  run_queue_us, run_queue_waits, tcp_srtt_us, tcp_srtt_samples, block_io_us, block_ios,
  count
};
enum class Gauge : std::uint8_t { memory_bytes, pids, count };
// clang-format on

// Values by key; some keys may never have been reported.
template <class Key>
class Sum {
 public:
  void add(Key key, std::optional<std::uint64_t> value) {
    if (!value) return;
    numbers_[at(key)] += *value;
    reported_ |= 1U << at(key);
  }
  void set(Key key, std::optional<std::uint64_t> value) {
    numbers_[at(key)] = value.value_or(0);
    reported_ = value ? reported_ | 1U << at(key) : reported_ & ~(1U << at(key));
  }
  void add(const Sum& other) {
    for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i] += other.numbers_[i];
    reported_ |= other.reported_;
  }
  std::optional<std::uint64_t> get(Key key) const {
    return (reported_ & 1U << at(key)) != 0 ? std::optional(numbers_[at(key)]) : std::nullopt;
  }

 private:
  static std::size_t at(Key key) { return static_cast<std::size_t>(key); }
  std::array<std::uint64_t, static_cast<std::size_t>(Key::count)> numbers_{};
  std::uint32_t reported_ = 0;
};
using Counters = Sum<Counter>;
using Gauges = Sum<Gauge>;

inline constexpr std::size_t kEnergySources = static_cast<std::size_t>(EnergySource::estimated) + 1;

void add_kernel(const KernelValues& kernel, Counters& to);

// Energy since the start by source, and the part that has been shown: fine-grained readings are a side channel, so the
// shown value changes in steps (Metrics).
class Energy {
 public:
  void add(EnergySource source, std::optional<std::uint64_t> uj) {
    if (!uj) return;
    auto& one = by_source_[static_cast<std::size_t>(source)];
    one.now_uj += *uj;
    one.reported = true;
  }
  void add(const Energy& other);
  void show() {
    for (auto& one : by_source_) {
      one.shown_uj = one.now_uj;
      one.shown = one.reported;
    }
  }
  std::optional<std::uint64_t> shown_uj(EnergySource source) const {
    const auto& one = by_source_[static_cast<std::size_t>(source)];
    return one.shown ? std::optional(one.shown_uj) : std::nullopt;
  }

 private:
  struct One {
    std::uint64_t now_uj = 0, shown_uj = 0;
    bool reported = false, shown = false;
  };
  std::array<One, kEnergySources> by_source_{};
};

struct Sums {
  Counters counters;
  Energy energy;
  std::string labels;  // as on the page; for a listed workload
};

struct SummedWorkload {
  std::uint64_t cgroup_id = 0;
  WorkloadKind kind = WorkloadKind::other;
  std::string name;
  Gauges gauges;
  std::unique_ptr<Sums> sums;    // null: folded
  std::int64_t ended_at_ns = 0;  // mono; 0: still running
  std::uint64_t seen = 0;
  std::uint64_t recent_us = 0, use_us = 0;  // CPU time since the last selection; its decaying sum over all selections
};

class WorkloadSums {
 public:
  explicit WorkloadSums(std::size_t max_listed) : max_listed_(max_listed) {}
  void observe(const Record& record);
  void show_energy();

  // Folded workloads have no sums. An ended workload stays listed for a minute, so that it is scraped.
  const std::vector<SummedWorkload>& all() const { return all_; }
  const Sums& folded() const { return folded_; }
  Gauges folded_gauges() const;
  // Energy of workloads that are no longer listed.
  const Energy& left() const { return left_; }
  std::size_t listed_count() const { return listed_; }
  std::size_t folded_count() const { return all_.size() - listed_; }

 private:
  SummedWorkload& find(const WorkloadValues& workload, std::size_t expected);
  void add(const WorkloadValues& workload, const Record& record);
  void list(SummedWorkload& workload);
  void unlist(SummedWorkload& workload);
  void erase(std::size_t index);
  void drop_ended(std::int64_t before_ns);
  void choose();

  std::size_t max_listed_, listed_ = 0;
  std::vector<SummedWorkload> all_;
  std::unordered_map<std::uint64_t, std::size_t> index_;  // cgroup id -> place in all_
  Sums folded_;
  Energy left_;
  std::size_t next_ = 0;  // position after the last workload that was found
  std::uint64_t seen_ = 0;
  std::int64_t chosen_at_ns_ = 0;
};

}  // namespace wattle::agent
