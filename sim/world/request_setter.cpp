#include "sim/world/request_setter.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "placement/cluster/demand.hpp"
#include "provision/savings/doubt.hpp"
#include "provision/savings/freed_nodes.hpp"

namespace wattle::sim {

namespace {
constexpr double kMinute_s = 60, kProjectedHour_s = 3600, kProjectedDay_s = 86'400;
constexpr double kMemorySpan_s = 600;
constexpr double kSameRatio = 0.01;  // as in `wattle provision set`

double seconds_of(MonoTime at) { return seconds(at.time_since_epoch()); }
}  // namespace

void RequestSetter::begin(WorldObserver* next) {
  before_s_ += due_s_;
  due_s_ = kMinute_s;
  next_ = next;
  pods_.clear();
  pod_of_id_.clear();
  figures_ = {};
  projected_.clear();
  asleep_w_.clear();
}

void RequestSetter::placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
                           MonoTime now) {
  if (next_ != nullptr) next_->placed(id, pod, node, row, now);
  Pod& known = pods_[pod.uid];
  known = {id, placement::app_key_of(pod).owner, pod.request, pod.request, row, seconds_of(now), 0, 0, 0, 0};
  pod_of_id_[id] = &known;
}

void RequestSetter::ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) {
  if (next_ != nullptr) next_->ended(pod, row, now);
  const auto found = pods_.find(pod.uid);
  if (found == pods_.end()) return;
  pod_of_id_.erase(found->second.id);
  pods_.erase(found);
}

void RequestSetter::resized(const std::string& uid, const placement::Resources& request) {
  if (next_ != nullptr) next_->resized(uid, request);
}

void RequestSetter::used(std::span<const PodUse> pods, double interval_s) {
  if (next_ != nullptr) next_->used(pods, interval_s);
  for (const PodUse& use : pods) {
    const auto found = pod_of_id_.find(use.pod);
    if (found == pod_of_id_.end()) continue;
    Pod& pod = *found->second;
    pod.needed_core_s += placement::needed_cores({use.cores, use.waited, std::nullopt}) * interval_s;
    pod.seconds += interval_s;
    pod.needed_bytes = std::max(pod.needed_bytes, placement::needed_bytes({use.memory_bytes, 0, false, false}));
  }
}

void RequestSetter::reported(const World& world) {
  if (next_ != nullptr) next_->reported(world);
}

void RequestSetter::tick(World& world) {
  if (world.now_s() < due_s_) return;
  due_s_ = world.now_s() + kMinute_s;
  const double now_s = before_s_ + world.now_s();
  std::map<std::string, placement::Resources> originals;  // for owners with pods
  for (auto& [uid, pod] : pods_) {
    close(pod, now_s);
    originals[pod.owner] = pod.original;
  }
  for (const auto& [owner, original] : originals) rules_.at(owner).look(original, now_s);
  if (!projects_) {
    for (auto& [uid, pod] : pods_) set(world, uid, pod);
    return;
  }
  if (world.now_s() >= kProjectedHour_s * static_cast<double>(asleep_w_.size())) {
    double saved_w = 0;
    std::size_t row = 0;
    for (const placement::NodeView& view : world.view({}).nodes) {
      if (view.asleep) saved_w += std::max(0.0, world.truth(row).server.watts.front() - placement::kAsleepW);
      ++row;
    }
    asleep_w_.push_back(saved_w);
    hourly_pods_.push_back(static_cast<double>(pods_.size()));
  }
  if (world.now_s() >= kProjectedDay_s * static_cast<double>(projected_.size())) projected_.push_back(project(world));
}

ProjectedDay RequestSetter::project(const World& world) const {
  std::vector<placement::PackedNode> nodes;
  double asleep_w = 0, used_w = 0, sd_w = 0, idle_w = 0;
  for (const placement::NodeView& view : world.view({}).nodes) {
    (view.asleep ? asleep_w : used_w) += std::max(0.0, view.curve.idle_w() - placement::kAsleepW);
    sd_w += view.curve.watts_sd_w(0);
    idle_w += view.curve.idle_w();
    placement::PackedNode node;
    node.allocatable = view.allocatable;
    node.pod_capacity = view.pod_capacity;
    node.idle_w = view.curve.idle_w();
    node.open = !view.asleep;
    nodes.push_back(node);
  }
  std::vector<placement::SavingsPod> pods;
  std::map<std::string, std::size_t> change_of;  // by owner
  for (const auto& [uid, pod] : pods_) {
    const placement::RequestRule& rule = rules_.at(pod.owner);
    const placement::Resources right{rule.lasting_cores().value_or(pod.request.cpu_cores),
                                     rule.lasting_bytes().value_or(pod.request.memory_bytes)};
    const std::size_t change = change_of.try_emplace(pod.owner, change_of.size()).first->second;
    const placement::Resources hourly{rule.cpu_cores().value_or(pod.request.cpu_cores),
                                      rule.memory_bytes().value_or(pod.request.memory_bytes)};
    pods.push_back({pod.row, pod.request, right, change, false, hourly});
  }
  placement::FreedNodes freed(std::move(nodes), std::move(pods), change_of.size());
  while (freed.step()) {
  }
  const placement::Growth growth{hourly_pods_, static_cast<double>(pods_.size()), sd_w / std::max(1.0, idle_w),
                                 (asleep_w + used_w) / static_cast<double>(world.view({}).nodes.size())};
  const auto interval = [](double saved_w, const placement::Doubt& doubt) {
    return placement::interval_of(saved_w, doubt).value_or(stats::without_range(saved_w));
  };
  const double saved_w = freed.requests().saved_w;
  return {interval(saved_w, growth.of_changes(saved_w, freed.requests_by_share_w())),
          interval(asleep_w, growth.of_empty({}, used_w, asleep_w + used_w))};
}

void RequestSetter::close(Pod& pod, double now_s) {
  figures_.given_up_core_s += (pod.original.cpu_cores - pod.request.cpu_cores) * kMinute_s;
  figures_.given_up_byte_s += (pod.original.memory_bytes - pod.request.memory_bytes) * kMinute_s;
  placement::RequestRule& rule = rules_.try_emplace(pod.owner, placement::RequestRule(options_)).first->second;
  if (pod.seconds > 0) rule.add_cpu(pod.needed_core_s / pod.seconds, pod.seconds, now_s);
  pod.needed_core_s = pod.seconds = 0;
  if (pod.memory_since_s == 0) pod.memory_since_s = now_s;
  if (now_s - pod.memory_since_s < kMemorySpan_s) return;
  rule.add_memory(pod.needed_bytes, now_s);
  pod.needed_bytes = 0;
  pod.memory_since_s = now_s;
}

void RequestSetter::set(World& world, const std::string& uid, Pod& pod) {
  const placement::RequestRule& rule = rules_.at(pod.owner);
  const bool young = world.now_s() - pod.since_s < options_.hold_s;
  placement::Resources next = pod.request;
  const auto want = [&](double& has, std::optional<double> suggested, double original, double unit, double most) {
    if (!suggested) return;
    const double wanted = placement::floor_of(*suggested, original, true);
    const double target = std::min(std::ceil(wanted / unit - 1e-6) * unit, most);
    if (std::abs(target - has) <= kSameRatio * has || (target < has && young)) return;
    has = target;
  };
  const ServerModel& machine = world.truth(pod.row).server;
  want(next.cpu_cores, rule.cpu_cores(), pod.original.cpu_cores, 1e-3, machine.cores);
  if (memory_) want(next.memory_bytes, rule.memory_bytes(), pod.original.memory_bytes, 1 << 20, machine.memory_bytes);
  if (next.cpu_cores == pod.request.cpu_cores && next.memory_bytes == pod.request.memory_bytes) return;
  pod.request = next;
  figures_.writes += 1;
  [[maybe_unused]] const Status done = world.resize(uid, next);
  assert(done.has_value());
}

}  // namespace wattle::sim
