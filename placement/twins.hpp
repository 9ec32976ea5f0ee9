// twins: two copies of the cluster in which the same pods are placed, on one as the planner, on the other as the network would, for
// blocks of decisions. Each block begins from the cluster as it is.
// Joules   predicted, of what was placed: added watts x expected life, and where idle nodes sleep the watts of keeping its node
//          awake longer than it would be (the later of two ends of no known age), and waking it. Curves, demand and lives
//          are those that planner and features go by; nothing is measured, so that nothing of it is noise of measuring
// Gives    of a whole block (network's joules - planner's) / joules of the pods on an average node, within -1..1
// Not seen what no model predicts, such as tenants that wait for each other; pods with latency limits, which the planner does
//          not look at, are for the caller to keep out
// Errors   none: a pod that finds no place in one of them, or no plan, ends the block without a figure
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/features.hpp"
#include "placement/fleet.hpp"
#include "placement/planner.hpp"

namespace wattle::placement {

// A pod that waits, and the cluster as it is.
struct TwinQuestion {
  const ClusterView& view;
  const Fleet& fleet;                 // of the view's nodes
  std::span<const std::size_t> rows;  // nodes that are asked about
  const PodSpec& pod;
  const Ask& ask;
  const RewardConfig& reward;
  const MaskOptions& mask;
  const models::QNetwork& network;
  double margin = 0;  // in Q, that another node must beat the planner's by
};

class Twins {
 public:
  explicit Twins(std::size_t block = 10) : block_(block) {}
  // Both place the pod; the figure when a block is over.
  std::optional<double> play(const TwinQuestion& question, Planner& planner);
  void begin_anew() { pods_ = 0; }

 private:
  struct Side {
    ClusterView view;
    Fleet fleet;
    double joules = 0;
    void put(std::size_t node, const Ask& ask);
  };
  std::optional<std::size_t> choose(Side& side, const TwinQuestion& question, Planner& planner, bool by_network);

  std::size_t block_;
  std::size_t pods_ = 0;  // of the present block
  Side network_, planner_;
  double average_j_ = 0;
  std::vector<std::string_view> masked_;
  std::vector<float> residual_;
};

}  // namespace wattle::placement
