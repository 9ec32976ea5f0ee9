// paired_simulation: two copies of the cluster that live on, each filled as one of two rules would, with the same pods and the same ends of
// pods. What is compared is what the copies draw, so that harm is seen that lies in how a cluster was filled. The rules are the
// caller's (placement/paired_choices)
// Begin    as the cluster is. From then on a pod that is compared goes where each of them would put it, one that is not compared
//          goes on both where it really went, and a pod that ends leaves both
// Joules   predicted, on the curves, demand and lives that planner and features go by: watts of each copy over time, waiting at its
//          price (placement/objective) among them, and wakes.
//          Nothing is measured, so that nothing of it is noise of measuring
// Latency  the nodes' present ones on both; what a compared pod's users get less than on the best of the nodes asked about is watts at the
//          question's price, for as long as the pod is there. A node beyond a hard limit may not be chosen on either
// Pairs    that are known to slow each other (placement/pair_cost) cost what they are expected to when the pod comes, on either copy beside
//          those who are on it, for as long as the pod is there
// Gives    of a block of decisions (challenger's joules - incumbent's) / the larger of the two, within -1..1, so that who is exchanged for
//          whom changes the sign and nothing else; a block in which no time passes goes on
// Not seen what no model predicts: that a node's users wait longer for what is placed there
// Bounds   max_pods compared or placed since the beginning, then both begin anew; a pod that was compared and not seen to run within
//          unseen_s is taken away
// Errors   none: a pod that finds no place in one of them is placed in neither
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "placement/features.hpp"
#include "placement/fleet.hpp"

namespace wattle::placement {

// A pod that waits, and the cluster as it is.
struct PairedQuestion {
  const ClusterView& view;
  const Fleet& fleet;                 // of the view's nodes
  std::span<const std::size_t> rows;  // nodes that are asked about
  const PodSpec& pod;
  const PodEstimate& ask;
  const MaskOptions& mask;
  std::uint64_t key = 0;       // the pod's, by which its end is told
  bool lives_known = false;    // an Ask's life is when it will end, and no mean of its like
  double latency_price_w = 0;  // of each point of the latency term (placement/objective); 0: latency costs nothing
};

// A copy as a rule sees it. Of its fleet those of the question's rows are open that may be chosen; `masked` has why another may not.
class PairedCopy {
 public:
  // Made when it is asked for first: a view is large, and the planner reads none.
  const ClusterView& view();
  Fleet fleet;
  std::vector<std::string_view> masked;  // one of each row; empty: it may

 protected:
  struct Load {
    Resources requested;
    std::uint64_t pods = 0;
    double used_cores = 0, used_cores2 = 0, life_s = 0;  // sums over pods; of their variances, too
    double empties_at_s = 0;
    AppsThere apps;
  };
  std::vector<Load> loads;
  const PairedQuestion* unseen = nullptr;  // of which view_ is to be made yet

 private:
  ClusterView view_;
};
// The node it would choose; absent: none.
using PairedRule = std::function<std::optional<std::size_t>(PairedCopy&)>;

struct PairedSimulationOptions {
  std::size_t block = 10;  // decisions
  std::size_t max_pods = 100'000;
  double unseen_s = 600;
};

class PairedSimulation {
 public:
  explicit PairedSimulation(PairedSimulationOptions options = {}) : options_(options) {}
  // Both place the pod; the figure when a block is over.
  std::optional<double> play(const PairedQuestion& question, const PairedRule& challenger, const PairedRule& incumbent);
  // How long the block took whose figure was given last.
  double block_s() const { return block_s_; }
  // It runs on that node; `now_s` on the fleet's clock.
  void placed(std::uint64_t key, std::size_t node, const PodEstimate& ask, double now_s);
  // False: it is none of those that came since the beginning.
  bool ended(std::uint64_t key, double now_s);
  // One that ran there before the beginning has ended.
  void ended_there(std::size_t node, const PodEstimate& ask, double now_s);
  void begin_anew() { begun_ = false; }
  std::size_t pods() const { return pods_.size(); }

 private:
  struct Side : PairedCopy {
    using PairedCopy::Load, PairedCopy::loads, PairedCopy::unseen;
    double power_w = 0, joules = 0;
    double extra_w = 0;  // of its power: latency and pairs
  };
  struct Placed {
    std::size_t node = 0;
    double extra_w = 0;  // for as long as it is there
  };
  struct Pod {
    Placed by_challenger, by_incumbent;
    PodEstimate ask;
    double since_s = 0;
    bool seen = false;  // to run
  };
  void begin(const PairedQuestion& question);
  void advance(double now_s);
  void change(Side& side, const Placed& placed, const PodEstimate& ask, bool comes);
  static double node_w(const Side& side, std::size_t node);
  static void show(Side& side, const PairedQuestion& question);
  void forget_unseen(double now_s);
  static std::optional<Placed> choose(Side& side, const PairedQuestion& question, const PairedRule& rule);

  PairedSimulationOptions options_;
  bool begun_ = false, lives_known_ = false;
  std::size_t unseen_ = 0;  // of pods_
  std::size_t asked_ = 0;   // of the present block
  double now_s_ = 0, swept_s_ = 0, block_began_s_ = 0, block_s_ = 0;
  Side challenger_, incumbent_;
  std::unordered_map<std::uint64_t, Pod> pods_;
};

}  // namespace wattle::placement
