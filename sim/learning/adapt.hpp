// adapt: does a network that goes on learning on one cluster, from what that cluster really does, place better there?
// Play     each cluster (servers and applications of one seed, on the reporting side) is lived in for some days, by one demand day,
//          and then judged greedily on days of another: planner, the network as it came, the network that went on from it
//          (anchored, and if wanted free), one that began from scratch; same pods for all
// Known    with production knowledge all is live: days are lived and judged in a World, and who is judged knows what the last lived day
//          told it (or nothing: cold). With another knowledge days are played on the kernel; nobody learns online there
// Informed the planner that is told the watts which a Shift keeps from the others
// Hindsight what a network learns of recorded days (sim/learning/hindsight); gated: what its gate lets serve, guarded by the network gate; recorded:
//          what wattle-sim improve makes of the days as a record (sim/learning/improve), by its own verdict
// Errors   forwards the trainers'; out_of_range: not churn, one demand day only, or a contestant that this knowledge does not have
// Threads  single owner; the same options give the same bytes
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "models/frozen/trainer.hpp"
#include "sim/episode/statistics.hpp"
#include "sim/learning/hindsight.hpp"
#include "sim/learning/online.hpp"

namespace wattle::sim::consolidation {

struct AdaptOptions {
  OnlineOptions online;  // episodes: days lived; seeds and anchor are set here
  std::uint64_t first_cluster = 0;
  std::size_t clusters = 10, judged_days = 2;
  HindsightOptions hindsight;
  Side side = Side::report;
  models::Weights start;
  double margin = 0;
  bool cold = false;  // with production knowledge: judged days begin with nothing
  std::vector<std::string> contestants{
      "planner", "start", "online", "scratch"};  // and "free", "guarded", "informed", "hindsight", "gated", "recorded"
};
// A trainer that goes on from weights, or begins anew.
using MakeTrainer =
    std::function<Result<std::unique_ptr<models::PolicyTrainer>>(const std::optional<models::Weights>&)>;

struct AdaptRow {
  std::string name;
  std::vector<double> energy_j;  // of each cluster, judged days together; with pairs, of a core-second of work
  std::optional<Interval> over_planner, over_start;  // energy less 1
  // In a World, of each cluster: share of their time that pods waited for CPU, from the second hour of judged days on, and what they may.
  std::vector<double> waiting, wait_limit;
  std::array<std::size_t, 3> serves{};  // of "gated" and "recorded": clusters in which planner, start, learned served
  // Of "gated", of each cluster: what its gate saw of learned over start, learned over planner, start over planner.
  std::vector<std::array<Interval, 3>> gate;
};
struct AdaptResult {
  std::vector<std::uint64_t> clusters;
  std::vector<AdaptRow> rows;
  std::uint64_t decisions = 0;  // lived through, by a network that learned, mean over clusters
};

using AdaptProgress = std::function<void(double done, const std::string& next)>;
Result<AdaptResult> adapt(const Dataset& data, const AdaptOptions& options, const MakeTrainer& make,
                          const AdaptProgress& progress = {});

}  // namespace wattle::sim::consolidation
