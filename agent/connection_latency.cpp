#include "agent/connection_latency.hpp"

#include "agent/collect/cgroup_mount.hpp"

namespace wattle::agent {

namespace {
constexpr std::int64_t kReadingEvery_ns = 10'000'000'000, kReadingsOf_ns = 60'000'000'000;

Result<AnswerTimes> load_answers(const AgentConfig& config) {
  WATTLE_TRY(const CgroupTop top, open_cgroup_top(config.roots));
  if (top.v1)
    return fail(Errc::unsupported, top.dir.path(), "is cgroup v1, and connections are known only by cgroups of v2",
                kUse_v2);
  return AnswerTimes::load_(config.provisioning.connections, top.dir.fd());
}
}  // namespace

ConnectionLatency::ConnectionLatency(const AgentConfig& config) : targets_(config.provisioning.connections) {
  for (const AnswerTarget& target : targets_) values_.push_back({.workload = target.workload});
  auto loaded = load_answers(config);
  if (!loaded) {
    finding_ = lost("bpf-answers", loaded.error());
    return;
  }
  times_.emplace(std::move(*loaded));
  finding_ = usable("bpf-answers", "response times on new accepted TCP connections");
}

void ConnectionLatency::read(const Sample& sample) {
  if (!times_) return;
  std::vector<AnswerCounts> now;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    std::uint64_t cgroup_id = 0;
    for (const WorkloadValues& workload : sample.record.workloads)
      if (workload.kind != WorkloadKind::pod && !workload.ended && workload.name == targets_[i].workload)
        cgroup_id = workload.cgroup_id;
    times_->follow(i, cgroup_id);
    now.push_back(times_->read(i));
  }
  const std::int64_t now_ns = sample.record.mono_ns;
  if (readings_.empty()) readings_.emplace_back(now_ns, std::vector<AnswerCounts>(targets_.size()));
  while (readings_.size() > 1 && now_ns - readings_.front().first > kReadingsOf_ns) readings_.pop_front();
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const AnswerCounts& before = readings_.front().second[i];
    values_[i] = {
        targets_[i].workload, now[i].count, now[i].over, now[i].guessed, answer_quantile(before, now[i], 0.99), now[i]};
  }
  if (now_ns - readings_.back().first >= kReadingEvery_ns) readings_.emplace_back(now_ns, std::move(now));
}

std::map<std::string, actuation::Requests> ConnectionLatency::totals() const {
  std::map<std::string, actuation::Requests> out;
  for (const AnswerValues& value : values_)
    if (value.count > 0) out[value.workload] = {value.count, value.over};
  return out;
}

}  // namespace wattle::agent
