#include "provision/savings/freed_nodes.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace wattle::placement {

FreedNodes::FreedNodes(std::vector<PackedNode> nodes, std::vector<SavingsPod> pods, std::size_t changes)
    : nodes_(std::move(nodes)), pods_(std::move(pods)), changes_(changes) {
  rank();
  std::vector<bool> holds(nodes_.size(), false);
  bool spares = false;
  for (const SavingsPod& pod : pods_) {
    holds[pod.node] = true;
    spares = spares || pod.spare;
    grows_ = grows_ || (pod.change < changes_ &&
                        (pod.right.cpu_cores > pod.now.cpu_cores || pod.right.memory_bytes > pod.now.memory_bytes));
  }
  std::vector<std::size_t> without;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].open && !holds[i]) without.push_back(i);
  empty_ = sum_of(without);
  if (changes_ == 0 && !spares) return;
  // `packed_` is known when the other jobs run.
  jobs_.push_back({0, false, [this](NodesFreed all) { packed_ = all; }});
  const auto beyond = [this](NodesFreed all, bool may_lose) {
    if (!may_lose && all.saved_w < packed_.saved_w) return NodesFreed{};
    NodesFreed freed;
    freed.nodes = all.nodes > packed_.nodes ? all.nodes - packed_.nodes : 0;
    freed.saved_w = all.saved_w - packed_.saved_w;
    return freed;
  };
  if (changes_ > 0)
    jobs_.push_back({changes_, false, [this, beyond](NodesFreed all) { both_ = requests_ = beyond(all, grows_); }});
  if (spares) jobs_.push_back({0, true, [this, beyond](NodesFreed all) { both_ = replicas_ = beyond(all, false); }});
  if (changes_ > 0 && spares)
    jobs_.push_back({changes_, true, [this, beyond](NodesFreed all) { both_ = beyond(all, grows_); }});
  const std::size_t packings = kMostPackedPods / std::max<std::size_t>(1, pods_.size());
  for (std::size_t k = 1; k <= std::min({changes_, kMostRanked, packings}); ++k)
    jobs_.push_back({k, false, [this, beyond](NodesFreed all) { freed_after_.push_back(beyond(all, true).nodes); }});
}

void FreedNodes::rank() {
  Resources all;
  for (const PackedNode& node : nodes_) {
    all.cpu_cores += node.allocatable.cpu_cores;
    all.memory_bytes += node.allocatable.memory_bytes;
  }
  std::vector<double> freed(changes_, 0);
  for (const SavingsPod& pod : pods_) {
    if (pod.change >= changes_) continue;
    if (all.cpu_cores > 0) freed[pod.change] += (pod.now.cpu_cores - pod.right.cpu_cores) / all.cpu_cores;
    if (all.memory_bytes > 0) freed[pod.change] += (pod.now.memory_bytes - pod.right.memory_bytes) / all.memory_bytes;
  }
  ranked_.resize(changes_);
  std::iota(ranked_.begin(), ranked_.end(), std::size_t{0});
  std::stable_sort(ranked_.begin(), ranked_.end(), [&](auto a, auto b) { return freed[a] > freed[b]; });
  rank_of_.resize(changes_);
  for (std::size_t k = 0; k < changes_; ++k) rank_of_[ranked_[k]] = k;
}

std::unique_ptr<Emptying> FreedNodes::packing(const Job& job) const {
  std::vector<PackedPod> pods;
  pods.reserve(pods_.size());
  for (const SavingsPod& pod : pods_) {
    if (job.fewer && pod.spare) continue;
    const bool changed = pod.change < changes_ && rank_of_[pod.change] < job.changes;
    pods.push_back({pod.node, changed ? pod.right : pod.now});
  }
  return std::make_unique<Emptying>(nodes_, std::move(pods));
}

NodesFreed FreedNodes::sum_of(const std::vector<std::size_t>& nodes) const {
  NodesFreed sum{nodes.size(), 0};
  for (const std::size_t node : nodes) sum.saved_w += std::max(0.0, nodes_[node].idle_w - kAsleepW);
  return sum;
}

double FreedNodes::share_w(const SavingsPod& pod, const Resources& request) const {
  const PackedNode& node = nodes_[pod.node];
  return share_of_node(node, request) * std::max(0.0, node.idle_w - kAsleepW);
}

std::vector<double> FreedNodes::requests_by_share_w() const {
  double lasting_w = 0, hourly_w = 0;
  for (const SavingsPod& pod : pods_) {
    if (pod.change >= changes_) continue;
    lasting_w += share_w(pod, pod.now) - share_w(pod, pod.right);
    hourly_w += share_w(pod, pod.now) - share_w(pod, pod.hourly.value_or(pod.right));
  }
  return {lasting_w, hourly_w};
}

std::vector<double> FreedNodes::replicas_by_share_w() const {
  double sum_w = 0;
  for (const SavingsPod& pod : pods_) sum_w += pod.spare ? share_w(pod, pod.now) : 0;
  return {sum_w};
}

bool FreedNodes::step() {
  if (job_ >= jobs_.size()) return false;
  if (!running_) running_ = packing(jobs_[job_]);
  if (running_->step()) return true;
  jobs_[job_].give(sum_of(running_->emptied()));
  running_.reset();
  return ++job_ < jobs_.size();
}

}  // namespace wattle::placement
