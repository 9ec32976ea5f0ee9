#include "placement/decide/look_ahead.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace wattle::placement {

namespace {

constexpr double kRounding = 1e-9;

// Remaining room on a node. An unknown size is unlimited.
struct Room {
  double cpu_cores = 0, memory_bytes = 0, pods = 0;
  bool asleep = false;

  bool takes(const Resources& request) const {
    return request.cpu_cores <= cpu_cores + kRounding && request.memory_bytes <= memory_bytes * (1 + kRounding) &&
           pods >= 1;
  }
  void take(const Resources& request) {
    cpu_cores -= request.cpu_cores;
    memory_bytes -= request.memory_bytes;
    pods -= 1;
    asleep = false;
  }
};

Room room_of(const NodeView& node) {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const auto left = [](double allocatable, double requested, double in_flight) {
    return allocatable > 0 ? allocatable - requested - in_flight : kEndless;
  };
  Room room;
  room.cpu_cores = left(node.allocatable.cpu_cores, node.requested.cpu_cores, node.in_flight_request.cpu_cores);
  room.memory_bytes =
      left(node.allocatable.memory_bytes, node.requested.memory_bytes, node.in_flight_request.memory_bytes);
  room.pods = node.pod_capacity > 0 ? static_cast<double>(node.pod_capacity) - static_cast<double>(node.pods) -
                                          static_cast<double>(node.in_flight)
                                    : kEndless;
  room.asleep = node.asleep;
  return room;
}

// A pod that fits on few nodes.
struct Scarce {
  Resources request;
  std::vector<std::size_t> nodes;  // indices into Packing::rooms_
};

class Packing {
 public:
  // Returns the index of a view's node in rooms_; adds it if missing.
  std::size_t place_of(const ClusterView& view, std::size_t node) {
    const auto found = std::find(nodes_.begin(), nodes_.end(), node);
    if (found != nodes_.end()) return static_cast<std::size_t>(found - nodes_.begin());
    nodes_.push_back(node);
    rooms_.push_back(room_of(view.nodes[node]));
    return nodes_.size() - 1;
  }
  std::optional<std::size_t> known(std::size_t node) const {
    const auto found = std::find(nodes_.begin(), nodes_.end(), node);
    if (found == nodes_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - nodes_.begin());
  }
  void add(Scarce pod) { pods_.push_back(std::move(pod)); }
  bool empty() const { return pods_.empty(); }
  void sort() {
    std::stable_sort(pods_.begin(), pods_.end(), [](const Scarce& a, const Scarce& b) {
      if (a.nodes.size() != b.nodes.size()) return a.nodes.size() < b.nodes.size();
      return a.request.cpu_cores > b.request.cpu_cores;
    });
  }

  // Packs the pods after this request has taken room on that node, or without it.
  RoomLoss pack(std::optional<std::size_t> taken, const Resources& request) const {
    std::vector<Room> rooms = rooms_;
    if (taken) rooms[*taken].take(request);
    RoomLoss loss;
    for (const Scarce& pod : pods_) {
      std::optional<std::size_t> best;
      for (const std::size_t each : pod.nodes) {
        if (!rooms[each].takes(pod.request)) continue;
        if (best && (rooms[*best].asleep != rooms[each].asleep ? rooms[each].asleep
                                                               : rooms[*best].cpu_cores <= rooms[each].cpu_cores))
          continue;
        best = each;
      }
      if (!best) {
        ++loss.left_out;
        continue;
      }
      loss.woken += rooms[*best].asleep ? 1 : 0;
      rooms[*best].take(pod.request);
    }
    return loss;
  }

 private:
  std::vector<std::size_t> nodes_;
  std::vector<Room> rooms_;
  std::vector<Scarce> pods_;
};

}  // namespace

std::vector<RoomLoss> room_losses(const ClusterView& view, std::span<const std::size_t> rows,
                                  std::span<const std::size_t> feasible, const PodSpec& pod,
                                  std::span<const PodSpec> next, const MaskOptions& mask) {
  std::vector<RoomLoss> losses(rows.size());
  next = next.first(std::min(next.size(), kMaxAhead));
  const std::size_t enough = next.size() + 1;  // each of the other pods takes room on one node
  Packing packing;
  std::vector<std::size_t> awake, asleep;
  for (const PodSpec& each : next) {
    awake.clear();
    asleep.clear();
    for (const std::size_t node : rows) {
      if (awake.size() == enough) break;
      const NodeView& there = view.nodes[node];
      if (there.asleep && asleep.size() == enough) continue;
      if (mask_reason(there, each, mask).empty()) (there.asleep ? asleep : awake).push_back(node);
    }
    if (awake.size() == enough || awake.size() + asleep.size() == 0) continue;
    Scarce scarce{each.request, {}};
    for (const std::size_t node : awake) scarce.nodes.push_back(packing.place_of(view, node));
    for (const std::size_t node : asleep) scarce.nodes.push_back(packing.place_of(view, node));
    packing.add(std::move(scarce));
  }
  if (packing.empty()) return losses;
  packing.sort();
  const RoomLoss without = packing.pack(std::nullopt, {});
  for (const std::size_t row : feasible) {
    const auto there = packing.known(rows[row]);
    if (!there) continue;
    const RoomLoss with = packing.pack(there, pod.request);
    losses[row] = {with.left_out - std::min(with.left_out, without.left_out),
                   with.woken - std::min(with.woken, without.woken)};
  }
  return losses;
}

}  // namespace wattle::placement
