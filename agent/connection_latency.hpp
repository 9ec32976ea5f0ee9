// connection_latency: how many of a workload's answers took longer than its target, as its TCP connections show it.
// Source   agent/bpf/answer_times, for workloads that the configuration names (provisioning.connections), by the cgroups that
//          the tick's sample has of them
// Gives    sums since the agent started, and the 99th percentile of the last minute
// Rules    known from its first answer on: until then nobody can say whether it speaks TCP at all
// Errors   what cannot be loaded is a finding; then nothing is known
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
  // Loads the programs, while there is a right to; finding() says how that went.
  explicit ConnectionLatency(const AgentConfig& config);
  const Finding& finding() const { return finding_; }
  // Once a tick.
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
