// answer_times: how long connections that a workload accepted waited for answers, as answers.bpf.c counts it.
// Source   sock_ops and cgroup_skb at the top of cgroup v2; connections made after loading
// Gives    per followed workload: answers, those over its target, those that are a guess, a histogram; cumulative
// Errors   denied, unsupported, not_found, naming the mend, from load_
// Needs    CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN to load; nothing to follow or to read: all is mapped
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
  std::uint64_t count = 0, over = 0, guessed = 0;  // the last two of the first
  std::array<std::uint64_t, WATTLE_ANSWER_BUCKETS> buckets{};
};

// Of what came between two readings, in seconds, the middle of its bucket: within 6%; absent where nothing came.
std::optional<double> answer_quantile(const AnswerCounts& before, const AnswerCounts& now, double quantile);

// Where a bucket ends, in seconds; and the sum of all that was counted, each as the middle of its bucket: within 6%.
double answer_bucket_end_s(std::size_t bucket);
double answer_sum_s(const AnswerCounts& counts);

class AnswerTimes {
 public:
  // kMaxAnswerTargets at most. `cgroup_fd`: the top of cgroup v2.
  static Result<AnswerTimes> load_(std::span<const AnswerTarget> targets, int cgroup_fd);
  // Connections that are accepted from now on in this cgroup, or below it, are the target's; 0: nobody's.
  void follow(std::size_t target, std::uint64_t cgroup_id);
  AnswerCounts read(std::size_t target) const;

 private:
  AnswerTimes() = default;
  std::vector<Fd> links_;
  Mapped<wattle_answer_target> targets_;
  Mapped<wattle_answer_counters> answers_;
};

}  // namespace wattle::agent
