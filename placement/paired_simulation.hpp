// paired_simulation: two copies of the cluster that live on, one filled as the network would, the other as it would be without what was learned, with
// the same pods and the same ends of pods. What is compared is what the copies draw, so that harm is seen that lies in how a cluster
// was filled. Without what was learned the prior decides, which is the planner where nobody's latency counts
// Begin    as the cluster is. From then on a pod that is compared goes where each of them would put it, one that is not compared
//          goes on both where it really went, and a pod that ends leaves both
// Joules   predicted, on the curves, demand and lives that planner and features go by: watts of each copy over time, waiting at its
//          price (placement/objective) among them, and wakes.
//          Nothing is measured, so that nothing of it is noise of measuring
// Gives    of a block of decisions (network's joules - planner's) / planner's, within -1..1; a block in which no time passes goes on
// Not seen what no model predicts; pods with latency limits, which the planner does
//          not look at, are for the caller to keep out
// Bounds   max_pods compared or placed since the beginning, then both begin anew; a pod that was compared and not seen to run within
//          unseen_s is taken away
// Errors   none: a pod that finds no place in one of them, or no plan, is placed in neither
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/features.hpp"
#include "placement/fleet.hpp"
#include "placement/planner.hpp"

namespace wattle::placement {

// A pod that waits, and the cluster as it is.
struct PairedQuestion {
  const ClusterView& view;
  const Fleet& fleet;                 // of the view's nodes
  std::span<const std::size_t> rows;  // nodes that are asked about
  const PodSpec& pod;
  const PodEstimate& ask;
  const RewardConfig& reward;
  const MaskOptions& mask;
  const models::QNetwork& network;
  double margin = 0;         // in Q, that another node must beat the planner's by
  std::uint64_t key = 0;     // the pod's, by which its end is told
  bool lives_known = false;  // an Ask's life is when it will end, and no mean of its like
};

struct PairedSimulationOptions {
  std::size_t block = 10;  // decisions
  std::size_t max_pods = 100'000;
  double unseen_s = 600;
};

class PairedSimulation {
 public:
  explicit PairedSimulation(PairedSimulationOptions options = {}) : options_(options) {}
  // Both place the pod; the figure when a block is over.
  std::optional<double> play(const PairedQuestion& question, Planner& planner);
  // It runs on that node; `now_s` on the fleet's clock.
  void placed(std::uint64_t key, std::size_t node, const PodEstimate& ask, double now_s);
  // False: it is none of those that came since the beginning.
  bool ended(std::uint64_t key, double now_s);
  // One that ran there before the beginning has ended.
  void ended_there(std::size_t node, const PodEstimate& ask, double now_s);
  void begin_anew() { begun_ = false; }
  std::size_t pods() const { return pods_.size(); }

 private:
  struct Load {
    Resources requested;
    std::uint64_t pods = 0;
    double used_cores = 0, used_cores2 = 0, life_s = 0;  // sums over pods; of their variances, too
    double empties_at_s = 0;
  };
  struct Side {
    ClusterView view;
    Fleet fleet;
    std::vector<Load> loads;
    double power_w = 0, joules = 0;
  };
  struct Pod {
    std::size_t by_network = 0, by_planner = 0;  // nodes
    PodEstimate ask;
    double since_s = 0;
    bool seen = false;  // to run
  };
  void begin(const PairedQuestion& question);
  void advance(double now_s);
  void change(Side& side, std::size_t node, const PodEstimate& ask, bool comes);
  static double node_w(const Side& side, std::size_t node);
  static void show(Side& side, const PairedQuestion& question);
  void forget_unseen(double now_s);
  std::optional<std::size_t> choose(Side& side, const PairedQuestion& question, Planner& planner, bool by_network);

  PairedSimulationOptions options_;
  bool begun_ = false, lives_known_ = false;
  std::size_t asked_ = 0;  // of the present block
  double now_s_ = 0, swept_s_ = 0;
  Side network_, planner_;
  std::unordered_map<std::uint64_t, Pod> pods_;
  std::vector<std::string_view> masked_;
  std::vector<float> residual_;
};

}  // namespace wattle::placement
