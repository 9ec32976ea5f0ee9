// scenario: what is simulated, by name; everything that an episode needs follows from a scenario and a seed.
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
#include "sim/power.hpp"
#include "sim/workload.hpp"
#include "sim/world.hpp"

namespace wattle::sim {

enum class Kind {
  batch,   // create a batch, delete all, repeat
  window,  // keep so many: delete the oldest, create one
  fill,    // pods stay for ever
  churn,   // pods come at random and live their time
};

struct Scenario {
  std::string_view name;
  std::string_view help;
  Kind kind = Kind::churn;
  std::size_t nodes = 6;
  std::size_t placements = 300;  // of an episode; fill: at most, it ends when load is reached
  bool idle_nodes_sleep = false;
  double load_ratio = 0.6;  // fill, churn: requested share of all cores at the end, or in the steady state
  double interval_s = 10;   // batch, window, fill: between arrivals
  double life_s = 900;      // churn: mean over the applications, about
  double demand_scale = 1.3;
  std::size_t window = 30;  // batch, window: how many pods
  std::size_t shifts = 0;   // latency changes, evenly spread over the episode
};

inline constexpr std::array<Scenario, 7> kScenarios{{
    {"thesis_test1", "create 30 pods (250m, 64 MiB, soft 20 ms, hard 30 ms), delete all, repeat", Kind::batch, 3, 120},
    {"thesis_test2", "keep 30 such pods: delete the oldest, create one", Kind::window, 3, 120},
    {"latency_shift", "thesis_test2 with 20 pods and two latency changes", Kind::window, 3, 120, false, 0, 10, 0, 1, 20,
     2},
    {"fill", "mixed pods that stay, until 65% is requested", Kind::fill, 10, 1000, false, 0.65},
    {"fill_sleep", "fill, and idle nodes sleep", Kind::fill, 10, 1000, true, 0.65},
    {"churn", "mixed pods that come and go, 60% requested", Kind::churn, 6, 300, false},
    {"churn_sleep", "churn, and idle nodes sleep", Kind::churn, 6, 300, true, 0.5},
}};

Result<Scenario> find_scenario(std::string_view name);

// The cluster of an episode: servers from `measured` if there are any, else synthetic; users near some nodes and far
// from others.
WorldOptions make_world(const Scenario& scenario, const std::vector<ServerModel>& measured, std::uint64_t seed);

// The pods of an episode, and when they come; the same for every policy.
class Arrivals {
 public:
  Arrivals(const Scenario& scenario, const WorldOptions& world, std::uint64_t apps_seed, std::uint64_t seed);
  struct Arrival {
    double at_s = 0;
    SimPod pod;
    std::size_t remove_oldest = 0;  // before it comes
  };
  // Absent: the episode ends.
  std::optional<Arrival> next();

 private:
  Scenario scenario_;
  Workload workload_;
  Random random_;
  double interval_s_ = 0;
  double at_s_ = 0;
  double requested_cores_ = 0, limit_cores_ = 0;
  std::size_t made_ = 0;
};

}  // namespace wattle::sim
