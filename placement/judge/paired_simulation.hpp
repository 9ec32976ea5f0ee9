// paired_simulation: compares two rules (placement/judge/paired_choices) on two persistent copies of the cluster. Each
// copy is filled by one rule and receives the same pods and ends of pods. Compares the copies' modelled
// energy, so that it includes harm from how a cluster was filled.
// Start    as the cluster is. From then on a compared pod goes where each rule puts it, any other pod goes on both
//          copies where it really went, and a pod that ends leaves both
// Joules   predicted with the curves, demand and lives of planner and features: watts of each copy over time, including
//          waiting at its price (placement/worth/objective), and wakes. No measured value enters, so there is no
//          measurement noise
// Latency  the nodes' current ones on both copies. The shortfall of a compared pod's users against the best node asked
//          about costs watts at the question's price, for the lifetime of the pod. A node beyond a hard limit may not
//          be chosen on either copy
// Pairs    that slow each other (placement/plan/pair_cost) cost their expected watts when the pod arrives, with the
//          neighbours on that copy, for the lifetime of the pod
// Gives    per block of decisions (challenger's joules - incumbent's) / the larger of the two, within -1..1. Exchanging
//          the rules changes only the sign. A block in which no time passes continues
// Limits   effects that no model predicts, such as users of a node that wait longer because of a placement, are not
//          seen
// Bounds   max_pods compared or placed since the start, then both copies restart; a compared pod that was not seen to
//          run within unseen_s is removed
// Errors   none: a pod that finds no place in one copy is placed in neither
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "placement/cluster/fleet.hpp"
#include "placement/worth/features.hpp"

namespace wattle::placement {

// A waiting pod and the current cluster.
struct PairedQuestion {
  const ClusterView& view;
  const Fleet& fleet;                 // of the view's nodes
  std::span<const std::size_t> rows;  // candidate nodes
  const PodSpec& pod;
  const PodEstimate& ask;
  const MaskOptions& mask;
  std::uint64_t key = 0;       // identifies the pod in ended()
  double latency_price_w = 0;  // per point of the latency term (placement/worth/objective); 0: latency costs nothing
};

// A copy as a rule sees it. In its fleet only the rows that may be chosen are open; `masked` has the reasons for the
// others.
class PairedCopy {
 public:
  // Built on first use: a view is large, and the planner reads none.
  const ClusterView& view();
  Fleet fleet;
  std::vector<std::string_view> masked;  // one per row; empty: may be chosen

 protected:
  struct Load {
    Resources requested;
    std::uint64_t pods = 0;
    double used_cores = 0, used_cores2 = 0, life_s = 0;  // sums over pods, of variances too
    double empties_at_s = 0;
    AppsThere apps;
  };
  std::vector<Load> loads;
  const PairedQuestion* unseen = nullptr;  // question for which view_ is not built yet

 private:
  ClusterView view_;
};
// Returns the chosen node, or no value.
using PairedRule = std::function<std::optional<std::size_t>(PairedCopy&)>;

struct PairedSimulationOptions {
  std::size_t block = 10;  // decisions
  std::size_t max_pods = 100'000;
  double unseen_s = 600;
};

class PairedSimulation {
 public:
  explicit PairedSimulation(PairedSimulationOptions options = {}) : options_(options) {}
  // Places the pod on both copies. Returns the difference when a block is complete.
  std::optional<double> play(const PairedQuestion& question, const PairedRule& challenger, const PairedRule& incumbent);
  // Returns the length of the last completed block.
  double block_s() const { return block_s_; }
  // The pod runs on that node; `now_s` is on the fleet's clock.
  void placed(std::uint64_t key, std::size_t node, const PodEstimate& ask, double now_s);
  // Returns false if the pod is not one of those placed since the start.
  bool ended(std::uint64_t key, double now_s);
  // Ends a pod that ran there before the start.
  void ended_there(std::size_t node, const PodEstimate& ask, double now_s);
  void restart() { begun_ = false; }
  std::size_t pods() const { return pods_.size(); }

 private:
  struct Side : PairedCopy {
    using PairedCopy::Load, PairedCopy::loads, PairedCopy::unseen;
    double power_w = 0, joules = 0;
    double extra_w = 0;  // part of power_w from latency and pairs
  };
  struct Placed {
    std::size_t node = 0;
    double extra_w = 0;  // while the pod is there
  };
  struct Pod {
    Placed by_challenger, by_incumbent;
    PodEstimate ask;
    double since_s = 0;
    bool seen = false;  // the pod was seen to run
  };
  void begin(const PairedQuestion& question);
  void advance(double now_s);
  void change(Side& side, const Placed& placed, const PodEstimate& ask, bool comes);
  static double node_w(const Side& side, std::size_t node);
  static void show(Side& side, const PairedQuestion& question);
  void forget_unseen(double now_s);
  static std::optional<Placed> choose(Side& side, const PairedQuestion& question, const PairedRule& rule);

  PairedSimulationOptions options_;
  bool begun_ = false;
  std::size_t unseen_ = 0;  // number of pods_ not yet seen to run
  std::size_t asked_ = 0;   // decisions of the current block
  double now_s_ = 0, swept_s_ = 0, block_began_s_ = 0, block_s_ = 0;
  Side challenger_, incumbent_;
  std::unordered_map<std::uint64_t, Pod> pods_;
};

}  // namespace wattle::placement
