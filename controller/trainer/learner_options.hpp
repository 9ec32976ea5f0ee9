// learner_options: the options of the learner that the configuration sets.
// Threads  pure function
#pragma once

#include "controller/config.hpp"
#include "placement/learn/learner.hpp"
#include "placement/learn/tabular.hpp"

namespace wattle::controller {

inline placement::LearnerOptions learner_options(const LearnConfig& config) {
  placement::LearnerOptions options;
  options.seed = static_cast<std::uint64_t>(config.seed);
  options.replay_capacity = kReplay;
  options.batch = static_cast<std::size_t>(config.batch);
  options.warmup = static_cast<std::size_t>(config.warmup);
  options.shortlist = config.shortlist;
  options.n_step = static_cast<std::size_t>(config.n_step);
  options.tau_s = config.tau_s;
  if (config.tabular) placement::learn_with_table(options);
  options.settle_expiry_s = seconds(config.settle_expiry);
  return options;
}

}  // namespace wattle::controller
