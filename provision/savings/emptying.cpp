#include "provision/savings/emptying.hpp"

#include <algorithm>
#include <limits>

namespace wattle::placement {

namespace {

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
constexpr double kRounding = 1e-9;  // of a request; sums of requests are not exact

}  // namespace

double share_of_node(const PackedNode& node, const Resources& request) {
  const double cores = node.allocatable.cpu_cores > 0 ? request.cpu_cores / node.allocatable.cpu_cores : 0;
  const double memory = node.allocatable.memory_bytes > 0 ? request.memory_bytes / node.allocatable.memory_bytes : 0;
  return std::max(cores, memory);
}

Emptying::Emptying(std::vector<PackedNode> nodes, std::vector<PackedPod> pods)
    : nodes_(std::move(nodes)), pods_(std::move(pods)), pods_of_(nodes_.size()) {
  std::vector<Resources> requested(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) requested[i] = nodes_[i].fixed;
  std::vector<double> held(nodes_.size(), 0);  // shares of the node that its pods would take elsewhere
  for (std::size_t p = 0; p < pods_.size(); ++p) {
    const PackedPod& pod = pods_[p];
    pods_of_[pod.node].push_back(p);
    requested[pod.node].cpu_cores += pod.request.cpu_cores;
    requested[pod.node].memory_bytes += pod.request.memory_bytes;
    held[pod.node] += share_of_node(nodes_[pod.node], pod.request);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].open) order_.push_back(i);
  const auto worth = [&](std::size_t i) {
    if (pods_of_[i].empty()) return std::numeric_limits<double>::infinity();
    return nodes_[i].idle_w / std::max(held[i], kRounding);
  };
  std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return worth(a) > worth(b); });
  while (leaves_ < order_.size()) leaves_ *= 2;
  room_.assign(2 * leaves_, {});
  place_.assign(nodes_.size(), kNowhere);
  for (std::size_t k = 0; k < order_.size(); ++k) place_[order_[k]] = order_.size() - 1 - k;
  for (const std::size_t i : order_) {
    const PackedNode& node = nodes_[i];
    const double pods_there = static_cast<double>(node.fixed_pods + pods_of_[i].size());
    const Room room{node.allocatable.cpu_cores - requested[i].cpu_cores,
                    node.allocatable.memory_bytes - requested[i].memory_bytes,
                    static_cast<double>(node.pod_capacity) - pods_there};
    set_room(i, room);
  }
}

bool Emptying::has(const Room& room, const Resources& request) const {
  return room.pods >= 1 && room.cpu_cores + kRounding >= request.cpu_cores &&
         room.memory_bytes + kRounding * request.memory_bytes >= request.memory_bytes;
}

void Emptying::set_room(std::size_t node, const Room& room) {
  std::size_t at = leaves_ + place_[node];
  room_[at] = room;
  for (at /= 2; at > 0; at /= 2) {
    const Room &a = room_[2 * at], &b = room_[2 * at + 1];
    room_[at] = {std::max(a.cpu_cores, b.cpu_cores), std::max(a.memory_bytes, b.memory_bytes),
                 std::max(a.pods, b.pods)};
  }
}

std::size_t Emptying::first_with_room(const Resources& request, std::size_t at) const {
  if (!has(room_[at], request)) return kNowhere;
  if (at >= leaves_) return order_[order_.size() - 1 - (at - leaves_)];
  const std::size_t left = first_with_room(request, 2 * at);
  return left != kNowhere ? left : first_with_room(request, 2 * at + 1);
}

void Emptying::move(std::size_t pod, std::size_t to, Room& from_room) {
  PackedPod& moved = pods_[pod];
  Room room = room_[leaves_ + place_[to]];
  room.cpu_cores -= moved.request.cpu_cores;
  room.memory_bytes -= moved.request.memory_bytes;
  room.pods -= 1;
  set_room(to, room);
  from_room.cpu_cores += moved.request.cpu_cores;
  from_room.memory_bytes += moved.request.memory_bytes;
  from_room.pods += 1;
  moved.node = to;
}

bool Emptying::empty(std::size_t node) {
  std::vector<std::size_t> pods = pods_of_[node];
  std::stable_sort(pods.begin(), pods.end(), [&](auto a, auto b) {
    return share_of_node(nodes_[node], pods_[a].request) > share_of_node(nodes_[node], pods_[b].request);
  });
  const Room before = room_[leaves_ + place_[node]];
  Room own = before;
  set_room(node, {});  // its pods go to other nodes
  for (std::size_t k = 0; k < pods.size(); ++k) {
    const std::size_t to = first_with_room(pods_[pods[k]].request, 1);
    if (to != kNowhere) {
      move(pods[k], to, own);
      continue;
    }
    while (k-- > 0) {
      const std::size_t there = pods_[pods[k]].node;
      Room room = room_[leaves_ + place_[there]];
      move(pods[k], node, room);
      set_room(there, room);
    }
    set_room(node, before);
    return false;
  }
  for (const std::size_t pod : pods) pods_of_[pods_[pod].node].push_back(pod);
  pods_of_[node].clear();
  return true;
}

bool Emptying::step() {
  if (tried_ < order_.size()) {
    const std::size_t node = order_[tried_++];
    if (empty(node)) emptied_.push_back(node);
  }
  return tried_ < order_.size();
}

}  // namespace wattle::placement
