// metrics: the agent's page for Prometheus (docs/reference/metrics.md lists every name).
// Source   the sampler's samples; sums the differences in records, because Prometheus expects counters
// Gives    text exposition format 0.0.4, base units (joules, seconds, bytes)
// Secrets  energy readings at short intervals reveal what a processor computes (CVE-2020-8694), so energy on the page
//          changes at most once per `energy_floor` (1 s), regardless of the tick and the rate of scrapes
// Cost     additions per tick, copying only new names; a page per scrape;  Threads  any
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "agent/collect/probe.hpp"
#include "agent/connection_latency.hpp"
#include "agent/metrics_text.hpp"
#include "agent/sampler.hpp"
#include "agent/workload_sums.hpp"

namespace wattle::agent {

// State of the connection to the controller.
struct LinkValues {
  bool configured = false;
  bool welcomed = false;
  std::uint64_t sent_records = 0;
  std::uint64_t outbox_records = 0;
  std::uint64_t dropped_records = 0;
  bool spool = false;          // records wait on disk
  bool spool_durable = false;  // the disk accepts them
  std::uint64_t spool_bytes = 0;
  std::uint64_t spool_gap_records = 0;  // dropped, and no newer record has been acknowledged yet
  std::uint64_t spool_written_bytes = 0;
};

// wattle-actuator's report, summed over workloads.
struct ProvisioningValues {
  bool configured = false, connected = false;
  std::uint64_t set = 0;
  std::uint64_t student_out = 0;    // workloads whose student is no longer used
  bool latency = false;             // a service has a latency source
  std::uint64_t latency_known = 0;  // services with a known latency
  double used_cores = 0, granted_cores = 0, suggested_cores = 0, freed_cores = 0;
  std::vector<AnswerValues> answers;
};

struct MetricsOptions {
  std::size_t max_workloads = 1000;                 // listed one by one: as many as a Prometheus accepts from a node
  Duration energy_floor = std::chrono::seconds(1);  // a side channel needs a far finer resolution
};

class Metrics {
 public:
  Metrics(const std::vector<Finding>& findings, const MetricsOptions& options);
  void observe(const Sample& sample, std::uint64_t late_ticks);
  void observe(const LinkValues& link);
  void observe(const ProvisioningValues& provisioning);
  std::string page(const std::vector<ProbeCounts>& probes);

 private:
  void add_node(const NodeValues& node);
  void show_energy();
  void write_agent(MetricsText& text) const;
  void write_node(MetricsText& text) const;
  void write_energy(MetricsText& text) const;
  void write_workloads(MetricsText& text) const;
  void write_probes(MetricsText& text, const std::vector<ProbeCounts>& probes) const;
  void write_link(MetricsText& text) const;
  void write_provisioning(MetricsText& text) const;
  void write_answers(MetricsText& text) const;  // metrics_answers.cpp

  const MetricsOptions options_;
  mutable std::mutex mutex_;  // guards all below
  std::map<std::string, bool, std::less<>> source_ok_;
  NodeValues last_;  // without lists
  NodeCounters node_;
  PressureTotals pressure_;
  LinkValues link_;
  ProvisioningValues provisioning_;
  std::vector<ProbeValues> probes_;
  std::uint64_t ticks_ = 0, late_ticks_ = 0, energy_gaps_ = 0;
  std::int64_t now_ns_ = 0, shown_at_ns_ = 0;
  bool shown_ = false;
  Energy energy_, idle_, unattributed_;
  Counters kernel_;
  std::map<std::string, Energy, std::less<>> domains_;
  std::map<std::string, std::uint64_t, std::less<>> errors_;
  WorkloadSums workloads_;
  std::size_t page_bytes_ = 0;  // slightly more than the last page
};

}  // namespace wattle::agent
