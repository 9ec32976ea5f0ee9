// tabular: tabular Q-learning, the field's baseline, behind the same interfaces as the network (serving, training,
//          checkpoints).
// State    a cell combines the situation of a node among the compared nodes with the size of the pod. All nodes share
//          the cells, because nodes come and go. A cell encodes, for each load (pods, used cores, used memory,
//          connections, requested cores, amortised watts), whether the node has the least, an intermediate or the
//          largest value of the nodes that can take the pod: two nodes share a cell only if no load distinguishes them.
//          Also: asleep, empty or at work; whether none, some or all of the nodes are not at work; latency
//          unknown, within or above the soft limit; the pod's demand small, medium or large for a node
// Learning Q-learning on the learner's transitions: the table of the next state's valid nodes and its own greedy
//          choice. A cell averages its first visits and then uses the rate kLeastRate. A cell without a visit has the
//          mean of the others
// Prior    none: on_prior() is false, and residual() subtracts the observation's prior, so that Q is only the table
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
#include "placement/learn/learner.hpp"

namespace wattle::placement {

inline constexpr std::size_t kTableLoads = 6;
// The constant that a learner subtracts from each reward (LearnerOptions::reward_centre). It is 0, because Q has no
// prior to stay close to, and a learned centre would cancel the cost of an episode's end under presets that end
// episodes.
inline constexpr double kTableCentre = 0;
// Sets the options of a learner for a table: returns of one placement, and a horizon of one placement. With a longer
// horizon the values of cells grow at the pace of their visits, and the most visited cell is chosen regardless of its
// reward.
void learn_with_table(LearnerOptions& options);
inline constexpr std::size_t kTableCells = std::size_t{3 * 3 * 3 * 3 * 3 * 3} * 3 * 3 * 3 * 3;

// Returns the cell of each row of the observation.
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

// Returns the policy (placement/decide/policies) that a network serves.
std::string_view policy_of(const models::QNetwork& network);

// Makes the network that serves a trainer's weights(): the table, or the network of models/frozen.
Result<std::shared_ptr<const models::QNetwork>> network_of(const models::Weights& weights, std::uint64_t step,
                                                           const std::string& subject, bool on_prior = true);

}  // namespace wattle::placement
