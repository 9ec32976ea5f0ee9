// imitate: from judged decisions to a network: cross-entropy with softmax(-regret / temperature), and whether what came out
// is to be used.
// Errors   forwards the trainer's; malformed for a file of labels that is none
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
#include "sim/episode/statistics.hpp"
#include "sim/learning/rollout.hpp"

namespace wattle::sim::consolidation {

struct ImitateOptions {
  std::uint64_t seed = 1;  // of the order of examples
  double temperature = 0.15;
  // Of the regret that the policy is expected to have, over the temperature, beside the cross-entropy.
  double regret_weight = 0;
  bool average = false;  // weights are the mean of those of the last half of the steps
  std::size_t epochs = 20;
  std::size_t batch = 64;
  // Share of the anchor's own choice in every target: a KL anchor of anchor_share / (1 - anchor_share).
  double anchor_share = 0;
  std::shared_ptr<const models::QNetwork> anchor;  // none: the prior
  std::function<Status()> on_pass;                 // after each pass over the labels
};

// Targets of a label; nodes that were not tried take no part.
models::PolicyExample example_of(const Label& label, const ImitateOptions& options);

struct ImitateFigures {
  double loss = 0, agreement = 0;  // of the last epoch
  std::uint64_t steps = 0;
  models::Weights weights;  // what was learned; empty: of a trainer that shows none
};
Result<ImitateFigures> imitate(std::span<const Label> labels, const ImitateOptions& options,
                               models::PolicyTrainer& trainer);

// Regret of the network's choice among the tried nodes of each label, by prior + residual; without a network, of the prior's,
// which is the planner.
std::vector<double> regrets_of(std::span<const Label> labels, const models::QNetwork* network);
double mean_regret(std::span<const Label> labels, const models::QNetwork* network);

// Which network to use from now on: the best of the candidates by mean regret on labels that none was trained on, if it is
// better than the present one with 95% confidence (paired bootstrap over labels); else none, and the present one stays.
struct Promotion {
  std::optional<std::size_t> candidate;
  Interval against_present;  // regret of the best candidate less that of the present network, W0
};
Promotion promote(std::span<const Label> held_out, const models::QNetwork* present,
                  std::span<const models::QNetwork* const> candidates);

// An input that is the same in all labels has taught nothing: its weight becomes 0, and what it said there part of the bias. So the
// network says the same of these labels, and whatever that input holds elsewhere does not speak.
void silence_constant_inputs(models::Weights& weights, std::span<const Label> labels);

// What was taught in decisions that all have a plan says nothing without one; so with a pod's predicted life, which is 0 where pods stay. The
// first unit of the ask encoder is kept free while it is taught (reserve); afterwards it is above 0 where what was always there is missing,
// and then shuts every hidden unit of both heads (close). So the residual is exactly 0 there, and learning goes on only from other decisions.
struct Taught {
  bool plan = false, life = false;  // known in all labels
};
Taught taught_by(std::span<const Label> labels);
void reserve_gate(models::Weights& initial);
void close_untaught(models::Weights& weights, Taught taught);
// The same for fleets of more nodes than any label's, by the unit of the ask encoder that the labels excite least. False, and nothing is
// changed: each is excited by some label.
bool close_beyond_taught_size(models::Weights& weights, std::span<const Label> labels);

// As tensors, for a file between two runs.
models::Weights to_tensors(std::span<const Label> labels);
Result<std::vector<Label>> parse_labels(const models::Weights& tensors, const std::string& subject);

}  // namespace wattle::sim::consolidation
