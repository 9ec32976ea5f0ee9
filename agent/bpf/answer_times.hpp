// answer_times: the answer times of connections that a workload accepted, as counted by answers.bpf.c.
// Source   sock_ops and cgroup_skb at the top of cgroup v2; connections made after loading
// Gives    per followed workload, cumulative: answers, answers over its target, guessed answers, a histogram
// Errors   from load_: denied, unsupported, not_found, each with the fix
// Needs    CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN to load; none to follow or read, because the maps are memory-mapped
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/bpf/answer_slots.h"
#include "agent/bpf/mapped.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

inline constexpr std::size_t kMaxAnswerTargets = WATTLE_ANSWER_WORKLOADS;

struct AnswerTarget {
  std::string workload;  // name of a service or VM
  double target_s = 0;

  bool operator==(const AnswerTarget&) const = default;
};

struct AnswerCounts {
  std::uint64_t count = 0, over = 0, guessed = 0;  // over and guessed are included in count
  std::array<std::uint64_t, WATTLE_ANSWER_BUCKETS> buckets{};
};

// Returns a quantile of the answers between two readings, in seconds: the middle of its bucket, accurate within 6%.
// Unset if there were no answers.
std::optional<double> answer_quantile(const AnswerCounts& before, const AnswerCounts& now, double quantile);

// Return the upper bound of a bucket in seconds, and the sum of all answer times with each counted as the middle of its
// bucket (accurate within 6%).
double answer_bucket_end_s(std::size_t bucket);
double answer_sum_s(const AnswerCounts& counts);

class AnswerTimes {
 public:
  // Loads the programs for at most kMaxAnswerTargets targets. `cgroup_fd`: the top of cgroup v2.
  static Result<AnswerTimes> load_(std::span<const AnswerTarget> targets, int cgroup_fd);
  // Counts connections that are accepted after this call in or below this cgroup for the target; 0 ends the counting.
  void follow(std::size_t target, std::uint64_t cgroup_id);
  AnswerCounts read(std::size_t target) const;

 private:
  AnswerTimes() = default;
  std::vector<Fd> links_;
  Mapped<wattle_answer_target> targets_;
  Mapped<wattle_answer_counters> answers_;
};

}  // namespace wattle::agent
