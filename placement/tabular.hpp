// tabular: Q in a table, the baseline of the field, behind the same seams as the network: serving, training, checkpoints.
// State    one cell per situation of a node among the nodes compared and size of a pod, shared by all nodes, since nodes come and go. For
//          each load (pods, used cores, used memory, connections, requested cores, amortised watts): least, between or most of the
//          nodes that can take the pod, so that two nodes share a cell only where no load tells them apart. Beside these: asleep,
//          empty or at work, and whether none, some or all of the nodes are not at work; latency unknown, within or above the soft
//          limit; the pod's demand small, middling or large for a node
// Learning Q-learning on the learner's transitions: the table of the next state's valid nodes, its own greedy choice; a
//          cell's first visits are averaged, later ones count kLeastRate. A cell without a visit is worth the mean of the others
// Prior    none: on_prior() is false, and residual() takes away what prior an observation has, so that Q is the table alone
// Errors   network_of and restore: malformed, naming the subject
// Threads  networks any; the trainer has a single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::placement {

inline constexpr std::size_t kTableLoads = 6;
// What a learner takes from each reward (LearnerOptions::reward_centre). There is no prior for Q to stay about, and under presets that end
// episodes a learned centre would take away what an end costs.
inline constexpr double kTableCentre = 0;
inline constexpr std::size_t kTableCells = std::size_t{3 * 3 * 3 * 3 * 3 * 3} * 3 * 3 * 3 * 3;

// The cell of each row of the observation.
std::vector<std::size_t> table_cells(const models::Observation& observation);

class TabularNetwork final : public models::QNetwork {
 public:
  TabularNetwork(std::vector<float> table, std::uint64_t step) : table_(std::move(table)), step_(step) {}
  void residual(const models::Observation& observation, std::span<float> out) const override;
  std::uint64_t step() const override { return step_; }
  bool on_prior() const override { return false; }

 private:
  std::vector<float> table_;
  std::uint64_t step_;
};

std::unique_ptr<models::QTrainer> make_tabular_trainer();

// The policy (placement/policies) that a network serves.
std::string_view policy_of(const models::QNetwork& network);

// What a trainer's weights() serve as: the table, or the network of models/frozen.
Result<std::shared_ptr<const models::QNetwork>> network_of(const models::Weights& weights, std::uint64_t step,
                                                           const std::string& subject, bool on_prior = true);

}  // namespace wattle::placement
