// imitate: trains a network on judged decisions by cross-entropy with softmax(-regret / temperature), and decides
// whether to use the result.
// Errors   forwards the trainer's; malformed for an invalid file of labels
// Threads  single owner; the same labels, seeds and options give the same weights
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"
#include "sim/env/statistics.hpp"
#include "sim/improve/rollout.hpp"

namespace wattle::sim::consolidation {

struct ImitateOptions {
  std::uint64_t seed = 1;  // for the order of examples
  double temperature = 0.15;
  // Weight of the policy's expected regret over the temperature, in addition to the cross-entropy.
  double regret_weight = 0;
  bool average = false;  // averages the weights over the last half of the steps
  std::size_t epochs = 20;
  std::size_t batch = 64;
  // Share of the anchor's own choice in every target: a KL anchor of anchor_share / (1 - anchor_share).
  double anchor_share = 0;
  std::shared_ptr<const models::QNetwork> anchor;  // null: the prior
  std::function<Status()> on_pass;                 // after each pass over the labels
};

// Returns the targets of a label, without untried nodes.
models::PolicyExample example_of(const Label& label, const ImitateOptions& options);

struct ImitateFigures {
  double loss = 0, agreement = 0;  // of the last epoch
  std::uint64_t steps = 0;
  models::Weights weights;  // learned weights; empty if the trainer does not expose them
};
Result<ImitateFigures> imitate(std::span<const Label> labels, const ImitateOptions& options,
                               models::PolicyTrainer& trainer);

// Returns the regret of the network's choice among the tried nodes of each label, by prior + residual; without a
// network, that of the prior, which is the planner.
std::vector<double> regrets_of(std::span<const Label> labels, const models::QNetwork* network);
double mean_regret(std::span<const Label> labels, const models::QNetwork* network);

// Removes inputs that are constant over all labels, because training cannot determine their weight: sets the weight to
// 0 and adds the input's contribution to the bias. The network's output on these labels stays the same, and does not
// depend on the input elsewhere.
void silence_constant_inputs(models::Weights& weights, std::span<const Label> labels);

// Training on decisions that all have a plan does not cover decisions without one; the same holds for a pod's predicted
//          life, which is 0 where pods stay. reserve keeps the first unit of the ask encoder free during training.
//          After training, close sets it above 0 for inputs without the plan or life, so that it switches off every
//          hidden unit of both heads.
// The residual is exactly 0 there, and later training on other decisions can still change it.
struct Taught {
  bool plan = false, life = false;  // known in all labels
};
Taught taught_by(std::span<const Label> labels);
void reserve_gate(models::Weights& initial);
void close_untaught(models::Weights& weights, Taught taught);
// Does the same for fleets of more nodes than any label's, with the unit of the ask encoder that the labels excite
// least. Returns false, without a change, if the labels excite every unit.
bool close_beyond_taught_size(models::Weights& weights, std::span<const Label> labels);

// Converts labels to tensors, for a file between two runs.
models::Weights to_tensors(std::span<const Label> labels);
Result<std::vector<Label>> parse_labels(const models::Weights& tensors, const std::string& subject);

}  // namespace wattle::sim::consolidation
