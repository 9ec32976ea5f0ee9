// metrics: the agent's page for Prometheus (docs/metrics.md lists every name).
// Source   the sampler's last sample; energy is summed up here, since Prometheus wants counters
// Gives    text exposition format 0.0.4, base units (joules, seconds, bytes)
// Cost     nothing per tick but the sums; a page per scrape;  Threads  any
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/collect/probe.hpp"
#include "agent/sampler.hpp"

namespace wattle::agent {

// What the agent says of its own way to the controller.
struct LinkValues {
  bool configured = false;
  bool welcomed = false;
  std::uint64_t sent_records = 0;
  std::uint64_t reconnects = 0;
  std::uint64_t outbox_records = 0;
  std::uint64_t dropped_records = 0;
};

class Metrics {
 public:
  explicit Metrics(std::vector<Finding> findings) : findings_(std::move(findings)) {}
  void observe(const Sample& sample, std::uint64_t late_ticks);
  void observe(const LinkValues& link);
  std::string page(const std::vector<ProbeCounts>& probes) const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::vector<Finding> findings_;
  Record record_;
  std::vector<WorkloadCounters> raw_;
  NodeCounters node_;
  PressureTotals pressure_;
  LinkValues link_;
  std::uint64_t energy_uj_ = 0, idle_uj_ = 0, unattributed_uj_ = 0, late_ticks_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> domain_uj_;
  std::map<std::string, std::uint64_t, std::less<>> errors_;
  std::unordered_map<std::uint64_t, std::uint64_t> workload_uj_;  // by cgroup id
};

}  // namespace wattle::agent
