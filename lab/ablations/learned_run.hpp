// learned_run: an episode of consolidation in which the controller learns online from its own placements, as in mode
// live: the floor serves first, the learner continues from the shipped network, and measured blocks decide which of
// floor, planner, shipped and learned network places the pods.
// Reward   that of the options; outcomes are those that agents report. Each outcome is drawn as often as live
//          (controller/trainer/replay_budget), without exploration and without anchor
// Errors   forwards the trainer's and the run's
// Threads  single owner; the same options give the same bytes
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "common/result.hpp"
#include "lab/bench/live_run.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/learn/learner.hpp"

namespace wattle::sim::consolidation {

struct LearnedRunOptions {
  std::shared_ptr<const models::QNetwork> shipped;
  placement::RewardConfig reward;
  placement::LearnerOptions learner;
  double draws = 32;                 // of each outcome, on average
  std::uint64_t refresh_every = 25;  // steps between frozen networks
};
struct LearnedRun {
  RunFigures figures;
  placement::LearnerFigures learner;
  std::array<std::uint64_t, 4> decisions{};  // by placement::Candidate
  std::uint64_t learned_groups = 0;          // measured
  std::optional<double> learned_over_floor;  // measured difference of log energy per work
};

Result<LearnedRun> run_learned(const Episode& episode, const LearnedRunOptions& options, models::QTrainer& trainer);

}  // namespace wattle::sim::consolidation
