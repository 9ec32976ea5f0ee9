#include "placement/worth/soft_masks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace wattle::placement {

namespace {

constexpr double kRounding = 1e-9;
constexpr std::array<std::string_view, 3> kReasons = {"the zone already has its share of the owner's replicas",
                                                      "the node already has its share of the owner's replicas",
                                                      "PreferNoSchedule taint that the pod does not tolerate"};
using Excess = std::array<std::uint64_t, kReasons.size()>;  // compared in this order

// Replicas of one owner. A list, which is faster than a map for few zones.
struct Replicas {
  std::uint64_t all = 0;
  std::vector<std::pair<std::string_view, std::uint64_t>> by_zone;

  std::uint64_t in(std::string_view zone) const {
    for (const auto& [name, replicas] : by_zone)
      if (name == zone) return replicas;
    return 0;
  }
};

Replicas count_replicas(const ClusterView& view) {
  Replicas replicas;
  for (const NodeView& node : view.nodes) {
    if (node.owner_pods == 0) continue;
    replicas.all += node.owner_pods;
    if (node.zone.empty()) continue;
    const auto zone = std::find_if(replicas.by_zone.begin(), replicas.by_zone.end(),
                                   [&](const auto& each) { return each.first == node.zone; });
    if (zone != replicas.by_zone.end())
      zone->second += node.owner_pods;
    else
      replicas.by_zone.emplace_back(node.zone, node.owner_pods);
  }
  return replicas;
}

// Number of replicas above the cap with the pod there.
std::uint64_t above(std::uint64_t cap, std::uint64_t replicas) { return replicas + 1 > cap ? replicas + 1 - cap : 0; }

}  // namespace

std::uint64_t replica_cap(double share, std::uint64_t replicas) {
  if (!(share < 1) || replicas <= 1) return std::max<std::uint64_t>(1, replicas);
  const double most = std::floor(std::max(0.0, share) * static_cast<double>(replicas) + kRounding);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(most), 1, replicas - 1);
}

std::uint64_t soft_taints_against(const NodeView& node, const PodSpec& pod) {
  const auto tolerated = [&](const std::string& taint) {
    return std::any_of(pod.tolerates.begin(), pod.tolerates.end(), [&](const std::string& one) {
      return one == "*" || one == taint || (taint.starts_with(one) && taint.find('=') == one.size());
    });
  };
  return static_cast<std::uint64_t>(std::count_if(node.soft_taints.begin(), node.soft_taints.end(),
                                                  [&](const std::string& taint) { return !tolerated(taint); }));
}

bool add_soft_masks(const ClusterView& view, std::span<const std::size_t> rows, const PodSpec& pod,
                    const OwnerShare& share, std::vector<std::string_view>& masked) {
  if (pod.daemonset || !pod.node_name.empty()) return false;
  const Replicas replicas = pod.owner.empty() ? Replicas{} : count_replicas(view);
  const std::uint64_t node_cap = replica_cap(share.node, replicas.all + 1),
                      zone_cap = replica_cap(share.zone, replicas.all + 1);
  std::vector<Excess> excess(rows.size());
  std::vector<std::size_t> feasible;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!masked[row].empty()) continue;
    feasible.push_back(row);
    const NodeView& node = view.nodes[rows[row]];
    if (replicas.all > 0 && !node.zone.empty()) excess[row][0] = above(zone_cap, replicas.in(node.zone));
    if (replicas.all > 0) excess[row][1] = above(node_cap, node.owner_pods);
    if (!node.soft_taints.empty()) excess[row][2] = soft_taints_against(node, pod);
  }
  if (feasible.empty()) return false;
  Excess least = excess[feasible.front()];
  for (const std::size_t row : feasible) least = std::min(least, excess[row]);
  bool added = false;
  for (const std::size_t row : feasible) {
    const auto differs = std::mismatch(excess[row].begin(), excess[row].end(), least.begin());
    if (differs.first == excess[row].end()) continue;
    masked[row] = kReasons[static_cast<std::size_t>(differs.first - excess[row].begin())];
    added = true;
  }
  return added;
}

std::string preference_note(const PodSpec& pod) {
  if (pod.prefers.empty()) return {};
  if (pod.score_limit > 0 && pod.score_limit < kTopScore)
    return "; scored " + std::to_string(pod.score_limit) + " of " + std::to_string(kTopScore) +
           " so that the pod's preferences take precedence: " + pod.prefers;
  return "; the scheduler gives the pod's preferences more weight: " + pod.prefers;
}

}  // namespace wattle::placement
