#include "agent/bpf/answer_times.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include <answers.skel.h>

namespace wattle::agent {

namespace {
constexpr const char* kAnswers = "BPF program answers";

tl::unexpected<Error> fail_answers(int error_number) {
  const int error = std::abs(error_number);
  if (error == EPERM || error == EACCES)
    return fail(Errc::denied, kAnswers, std::strerror(error),
                "grant the agent CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, or remove provisioning.connections");
  return fail(Errc::unsupported, kAnswers, std::strerror(error),
              "use a kernel 5.12 or later with CONFIG_DEBUG_INFO_BTF and CONFIG_CGROUP_BPF");
}

Status attach(std::vector<Fd>& links, const bpf_program* program, int cgroup_fd) {
  const std::unique_ptr<bpf_link, int (*)(bpf_link*)> link(bpf_program__attach_cgroup(program, cgroup_fd),
                                                           bpf_link__destroy);
  if (!link) return fail_answers(errno);
  links.push_back(kept(bpf_link__fd(link.get())));
  if (!links.back().valid()) return fail_answers(errno);
  return {};
}

std::uint64_t loaded(const unsigned long long& value) { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }

// `at` of its parts, 0 its begin.
double within_bucket_s(std::size_t bucket, double at) {
  const double part = static_cast<double>(bucket % WATTLE_ANSWER_PARTS) + at;
  const int bit = WATTLE_ANSWER_FIRST_BIT + static_cast<int>(bucket / WATTLE_ANSWER_PARTS);
  return std::ldexp(1 + part / WATTLE_ANSWER_PARTS, bit) * 1e-9;
}
}  // namespace

double answer_bucket_end_s(std::size_t bucket) { return within_bucket_s(bucket, 1); }

double answer_sum_s(const AnswerCounts& counts) {
  double sum_s = 0;
  for (std::size_t i = 0; i < counts.buckets.size(); ++i)
    sum_s += static_cast<double>(counts.buckets[i]) * within_bucket_s(i, 0.5);
  return sum_s;
}

std::optional<double> answer_quantile(const AnswerCounts& before, const AnswerCounts& now, double quantile) {
  std::uint64_t all = 0, below = 0;
  for (std::size_t i = 0; i < now.buckets.size(); ++i) all += now.buckets[i] - before.buckets[i];
  if (all == 0) return std::nullopt;
  const auto rank =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(quantile * static_cast<double>(all))));
  std::size_t at = 0;
  for (; at + 1 < now.buckets.size(); ++at) {
    below += now.buckets[at] - before.buckets[at];
    if (below >= rank) break;
  }
  return within_bucket_s(at, 0.5);
}

Result<AnswerTimes> AnswerTimes::load_(std::span<const AnswerTarget> targets, int cgroup_fd) {
  if (cgroup_fd < 0)
    return fail(Errc::not_found, kAnswers, "no cgroup v2 tree to attach to",
                "mount it, or set root to where the host's /sys is mounted");
  libbpf_set_print(nullptr);  // the finding reports the error instead
  AnswerTimes out;
  {
    const std::unique_ptr<answers, void (*)(answers*)> skeleton(answers__open(), answers__destroy);
    if (!skeleton) return fail_answers(errno);
    if (const int error = answers__load(skeleton.get()); error != 0) return fail_answers(error);
    WATTLE_TRY(out.targets_,
               Mapped<wattle_answer_target>::open_(bpf_map__fd(skeleton->maps.targets), WATTLE_ANSWER_WORKLOADS, true));
    WATTLE_TRY(out.answers_, Mapped<wattle_answer_counters>::open_(bpf_map__fd(skeleton->maps.answers),
                                                                   WATTLE_ANSWER_WORKLOADS, false));
    for (std::size_t i = 0; i < std::min(targets.size(), kMaxAnswerTargets); ++i)
      out.targets_.span()[i].target_ns = static_cast<unsigned long long>(targets[i].target_s * 1e9);
    for (const bpf_program* program :
         {skeleton->progs.on_accepted, skeleton->progs.on_request, skeleton->progs.on_answer})
      WATTLE_CHECK(attach(out.links_, program, cgroup_fd));
  }
  ::malloc_trim(0);  // the kernel's types take megabytes, but only to load
  return out;
}

void AnswerTimes::follow(std::size_t target, std::uint64_t cgroup_id) {
  __atomic_store_n(&targets_.span()[target].cgroup_id, cgroup_id, __ATOMIC_RELEASE);
}

AnswerCounts AnswerTimes::read(std::size_t target) const {
  const wattle_answer_counters& from = answers_.span()[target];
  AnswerCounts out;
  out.count = loaded(from.count);  // first, because the program writes it last
  out.over = std::min(out.count, loaded(from.over));
  out.guessed = std::min(out.count, loaded(from.guessed));
  for (std::size_t i = 0; i < out.buckets.size(); ++i) out.buckets[i] = loaded(from.buckets[i]);
  return out;
}

}  // namespace wattle::agent
