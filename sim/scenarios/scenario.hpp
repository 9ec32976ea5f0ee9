// scenario: the simulated situations by name. A scenario and a seed determine an episode completely.
// Units    in names
// Errors   find_scenario: not_found, with the names that exist
// Threads  values, pure functions
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "sim/world/power.hpp"
#include "sim/world/workload.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

enum class Kind {
  batch,   // create a batch, delete all, repeat
  window,  // keep a number of pods: delete the oldest, create one
  fill,    // pods stay forever
  churn,   // pods arrive at random and end after their lifetimes
  burst,   // pods stay; after `window` of them all others arrive within burst_s
  scaled,  // replicas follow the rate of requests
};

enum class Apps {
  thesis,    // one application repeatedly
  mixed,     // request sizes that correlate little with the use
  drs,       // CPU-, network- and disk-intensive ones in turn
  users,     // a service with closed-loop users
  memory,    // only memory, normally distributed
  services,  // the services of one application, with requests at a rate
};

// Fault of a scenario, drawn only from the seed:
// latency    twice, evenly spread: the nearest node becomes the farthest and the farthest the nearest
// machines a quarter of the nodes fails for 3 to 10 minutes each; the agents of a sixth of the others stop for 2 to 6
// curves in mid-run the third of the servers with the fewest watts per core starts to draw 1.8 times as much, and the
//            third with the most 0.6 times
// lies after a quarter of the run, a tenth of the nodes report wrong values: in turn frozen, scaled by 0.4, swapped
// with another
enum class FaultKind { none, latency, machines, curves, lies };

struct Scenario {
  std::string_view name;
  std::string_view help;
  Kind kind = Kind::churn;
  Apps apps = Apps::mixed;
  std::size_t nodes = 6;
  std::size_t placements = 300;  // per episode; fill: the maximum, as it ends when the load is reached
  bool idle_nodes_sleep = false;
  bool equal_nodes = false;  // all of one model
  double cores = 0;          // of every node, watts and memory in proportion; 0: as drawn
  double load_ratio = 0.6;   // fill, churn: requested share of all cores at the end, or in the steady state
  double interval_s = 10;    // batch, window, fill, burst: between arrivals
  double life_s = 900;       // churn: approximate mean over the applications
  double demand_scale = 1.3;
  std::size_t window = 30;  // batch, window, burst: number of pods
  double burst_s = 0;
  FaultKind trouble = FaultKind::none;
  double users = 0;          // closed loop
  double aftermath_s = 180;  // after the last placement: its node may have to wake, then the outcome window passes
};

inline constexpr std::array<Scenario, 16> kScenarios{{
    {.name = "thesis_test1",
     .help = "create 30 pods (250m, 64 MiB, soft 20 ms, hard 30 ms), delete all, repeat",
     .kind = Kind::batch,
     .apps = Apps::thesis,
     .nodes = 3,
     .placements = 120},
    {.name = "thesis_test2",
     .help = "keep 30 such pods: delete the oldest, create one",
     .kind = Kind::window,
     .apps = Apps::thesis,
     .nodes = 3,
     .placements = 120},
    {.name = "latency_shift",
     .help = "thesis_test2 with 20 pods and two latency changes",
     .kind = Kind::window,
     .apps = Apps::thesis,
     .nodes = 3,
     .placements = 120,
     .demand_scale = 1,
     .window = 20,
     .trouble = FaultKind::latency},
    {.name = "drs",
     .help = "100 CPU-, network- and disk-intensive pods that stay, 4 equal nodes",
     .kind = Kind::fill,
     .apps = Apps::drs,
     .nodes = 4,
     .placements = 100,
     .equal_nodes = true,
     .load_ratio = 1,
     .interval_s = 5},
    {.name = "closed_loop",
     .help = "12 pods of a service with 50 users, 3 equal nodes, two of them half blocked",
     .kind = Kind::window,
     .apps = Apps::users,
     .nodes = 3,
     .placements = 60,
     .equal_nodes = true,
     .window = 12,
     .users = 50},
    {.name = "memory_only",
     .help = "short-lived pods that request only memory, normally distributed; 3 equal nodes",
     .kind = Kind::churn,
     .apps = Apps::memory,
     .nodes = 3,
     .placements = 300,
     .equal_nodes = true,
     .load_ratio = 0.7,
     .life_s = 300},
    {.name = "provisioning",
     .help = "replicas of 8 services follow 1,000 to 5,000 requests a second, twice up and down in an hour",
     .kind = Kind::scaled,
     .apps = Apps::services,
     .nodes = 8,
     .placements = 2000,
     .cores = 12,
     .load_ratio = 0.7},
    {.name = "fill",
     .help = "mixed pods that stay, until 65% is requested",
     .kind = Kind::fill,
     .nodes = 10,
     .placements = 1000,
     .load_ratio = 0.65},
    {.name = "fill_sleep",
     .help = "fill, and idle nodes sleep",
     .kind = Kind::fill,
     .nodes = 10,
     .placements = 1000,
     .idle_nodes_sleep = true,
     .load_ratio = 0.65},
    {.name = "churn", .help = "mixed pods that come and go, 60% requested"},
    {.name = "churn_sleep", .help = "churn, and idle nodes sleep", .idle_nodes_sleep = true, .load_ratio = 0.5},
    {.name = "machines_fail",
     .help = "churn on 12 nodes; a quarter of the machines leaves and returns, the agents of others die",
     .nodes = 12,
     .placements = 500,
     .trouble = FaultKind::machines},
    {.name = "curve_change",
     .help = "churn; mid-run the most efficient servers become the least efficient, and the reverse",
     .nodes = 6,
     .placements = 800,
     .trouble = FaultKind::curves},
    {.name = "liars",
     .help = "churn on 30 nodes, three of which freeze, scale or swap their values",
     .nodes = 30,
     .placements = 900,
     .trouble = FaultKind::lies},
    {.name = "burst",
     .help = "200 pods on 100 nodes, then 1,000 more within one telemetry interval",
     .kind = Kind::burst,
     .nodes = 100,
     .placements = 1200,
     .interval_s = 2,
     .window = 200,
     .burst_s = 4.5,
     .aftermath_s = 900},
    {.name = "burst_spread",
     .help = "the pods of burst one by one, for comparison with burst",
     .kind = Kind::burst,
     .nodes = 100,
     .placements = 1200,
     .interval_s = 2,
     .window = 200,
     .burst_s = 10'000,
     .aftermath_s = 900},
}};

Result<Scenario> find_scenario(std::string_view name);

// Makes the cluster of an episode: servers from `measured` if there are any, otherwise synthetic ones; users are near
// some nodes and far from others.
WorldOptions make_world(const Scenario& scenario, const std::vector<ServerModel>& measured, std::uint64_t seed);

inline constexpr double kWasteful = 1.8, kThrifty = 0.6;
FaultPlan draw_troubles(FaultKind kind, const std::vector<NodeSpec>& nodes, double length_s, std::uint64_t seed);

// A pod of a scaled application, with the times at which its autoscaler makes and ends it.
struct Replica {
  double at_s = 0, life_s = 0;  // infinity: until after the end
  std::size_t app = 0;
};

// The pods of an episode with their arrival times; the same for every policy.
class Arrivals {
 public:
  Arrivals(const Scenario& scenario, const WorldOptions& world, std::uint64_t apps_seed, std::uint64_t seed);
  struct Arrival {
    double at_s = 0;
    SimPod pod;
    std::size_t remove_oldest = 0;  // pods to remove before it arrives
  };
  // No value: the episode ends.
  std::optional<Arrival> next();

 private:
  std::optional<Arrival> next_replica();

  Scenario scenario_;
  Workload workload_;
  Random random_;
  double interval_s_ = 0, limit_cores_ = 0;
  std::vector<Replica> replicas_;  // for scaled
  double at_s_ = 0;
  double requested_cores_ = 0;
  std::size_t made_ = 0;
};

}  // namespace wattle::sim
