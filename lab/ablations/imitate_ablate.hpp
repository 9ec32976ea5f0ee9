// imitate_ablate: measures the value of each part of imitation by leaving one out at a time, as regret on labels of
// fleets that were not used for training.
// Pairing   every variant has the same training seeds and the same labels. A difference is of one block of labels
//           (about a fleet) with and without the part, averaged over training seeds
// Errors    the trainer's; out_of_range: no labels
// Threads   single owner; the same labels, seeds and options give the same figures
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"
#include "sim/env/statistics.hpp"
#include "sim/improve/imitate.hpp"

namespace wattle::sim::consolidation {

struct Variant {
  std::string_view name, what;
  std::vector<std::string_view> silent;  // features that are 0, in training and evaluation
  bool prior = true;                     // false: 0, so that the network must represent all of Q
  double labels = 1;                     // share of the labels
  bool regret_in_loss = true;            // false: cross-entropy alone
  bool average = true;                   // false: the weights of the last step
};
// Returns the variants; the first is the complete one.
std::span<const Variant> variants();

// Returns the labels without the variant's omitted parts.
std::vector<Label> without(const Variant& variant, std::span<const Label> labels);

struct AblationRow {
  std::string_view name, what;
  double regret = 0;                // W0 per placement, mean over seeds
  double least = 0, most = 0;       // over the seeds
  Interval over_whole, over_prior;  // regret minus that of the complete variant, and of the prior alone (the planner)
};

// Trains on labels and returns the resulting network. Provided by callers with a machine learning framework.
using Teach = std::function<Result<std::shared_ptr<const models::QNetwork>>(
    const Variant& variant, std::span<const Label> labels, std::uint64_t seed)>;

struct AblateOptions {
  std::size_t seeds = 5;
  std::uint64_t first_seed = 1;
  std::size_t block = 25;  // consecutive labels that come from about one fleet
};
Result<std::vector<AblationRow>> ablate(std::span<const Label> labels, std::span<const Label> held_out,
                                        const AblateOptions& options, const Teach& teach,
                                        const std::function<void(std::string_view)>& on_done = {});

}  // namespace wattle::sim::consolidation
