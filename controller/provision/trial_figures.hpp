// trial_figures: the states of the teacher's and the student's trial as figures of a checkpoint's manifest.
// Errors   none: a state that is missing or out of range gives no value
// Threads  pure functions
#pragma once

#include <map>
#include <optional>
#include <string>

#include "controller/provision/student_release.hpp"
#include "provision/minute/student_trainer.hpp"

namespace wattle::controller {

using Figures = std::map<std::string, double>;

// The student in the checkpoint.
struct TrainedFigures {
  std::uint64_t version = 0;  // 0: none
  models::provision::Agreement agreement;
};

void add_figures(Figures& into, const TrialState& state, const std::string& of = "");
void add_figures(Figures& into, const ReleaseState& state);
void add_figures(Figures& into, const TrainedFigures& trained);
std::optional<TrialState> state_of(const Figures& figures, const std::string& of = "");
std::optional<ReleaseState> release_of(const Figures& figures);
TrainedFigures trained_of(const Figures& figures);

}  // namespace wattle::controller
