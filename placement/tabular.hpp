// tabular: Q in a table, the baseline of the field, behind the same seams as the network: serving, training, checkpoints.
// State    one cell per situation of a node and size of a pod, shared by all nodes, since nodes come and go: requested cores
//          (5 bins of the share), used cores (5), requested memory (3), whether the node is asleep, empty or at work (3),
//          latency unknown, within or beyond the soft limit (3), the pod's demand small, middling or large for a node (3)
// Learning Q-learning on the learner's transitions: the table of the next state's valid nodes, its own greedy choice; a
//          cell's first visits are averaged, later ones count kLeastRate
// Prior    none: residual() takes the prior away again, so that Q is the table alone
// Errors   network_of and restore: malformed, naming the subject
// Threads  networks any; the trainer has a single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::placement {

inline constexpr std::size_t kTableCells = std::size_t{5} * 5 * 3 * 3 * 3 * 3;

// Which cell a row of the observation is in.
std::size_t table_cell(const models::Observation& observation, std::size_t row);

class TabularNetwork final : public models::QNetwork {
 public:
  TabularNetwork(std::vector<float> table, std::uint64_t step) : table_(std::move(table)), step_(step) {}
  void residual(const models::Observation& observation, std::span<float> out) const override;
  std::uint64_t step() const override { return step_; }

 private:
  std::vector<float> table_;
  std::uint64_t step_;
};

std::unique_ptr<models::QTrainer> make_tabular_trainer();

// What a trainer's weights() serve as: the table, or the network of models/frozen.
Result<std::shared_ptr<const models::QNetwork>> network_of(const models::Weights& weights, std::uint64_t step,
                                                           const std::string& subject, bool on_prior = true);

}  // namespace wattle::placement
