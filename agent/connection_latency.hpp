// connection_latency: counts a workload's answers that took longer than its target, measured on its TCP connections.
// Source   agent/bpf/answer_times, for workloads that the configuration names (provisioning.connections), by their
//          cgroups in the tick's sample
// Gives    sums since the agent started, and the 99th percentile of the last minute
// Rules    values are known after the first answer: before it, the workload may not use TCP
// Errors   a failure to load is a finding; there are no values then
// Threads  single owner
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/bpf/answer_times.hpp"
#include "agent/finding.hpp"
#include "agent/sampler.hpp"
#include "common/actuation.hpp"

namespace wattle::agent {

struct AnswerValues {
  std::string workload;
  std::uint64_t count = 0, over = 0, guessed = 0;
  std::optional<double> p99_s;  // of the last minute
  AnswerCounts all = {};        // since the start
};

class ConnectionLatency {
 public:
  // Loads the programs while the process has the right to; finding() reports the result.
  explicit ConnectionLatency(const AgentConfig& config);
  const Finding& finding() const { return finding_; }
  // Call once per tick.
  void read(const Sample& sample);
  const std::vector<AnswerValues>& values() const { return values_; }  // as configured
  std::map<std::string, actuation::Requests> totals() const;

 private:
  using Reading = std::pair<std::int64_t, std::vector<AnswerCounts>>;  // when, monotonic ns
  const std::vector<AnswerTarget> targets_;
  Finding finding_;
  std::optional<AnswerTimes> times_;
  std::deque<Reading> readings_;  // one each ten seconds, of the last minute
  std::vector<AnswerValues> values_;
};

}  // namespace wattle::agent
