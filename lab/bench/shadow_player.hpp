// shadow_player: plays an episode as a controller in mode shadow, canary or live does, with the modelled saving.
// Blocks   of a canary, on the rules and with the meters of the controller (controller/rollout), measured as its agents
//          report; they begin after the episode's warm-up, half of them are treated
// Figures  the modelled change of energy at the end of each day after the warm-up
// Units    energy as a share; times of the episode
// Errors   none
// Threads  single owner
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/rollout/effect.hpp"
#include "lab/bench/live_run.hpp"
#include "placement/judge/modelled_saving.hpp"

namespace wattle::sim::consolidation {

inline constexpr double kShadowDay_s = 24 * 3600;

enum class ShadowMode { shadow, canary, live };

struct PlayedShadow {
  LivePlayed played;
  std::vector<controller::BlockResult> blocks;  // those of the canary
  // At the end of each day; no value where there was no figure.
  std::vector<std::optional<placement::ModelledFigure>> days;
};

// The measured time of a block of a canary.
double measured_block_s();
// `known`: the cluster model of an earlier episode, or empty.
Result<PlayedShadow> play_shadow(const Episode& episode, const Contestant& contestant, const std::string& known,
                                 const LiveRunOptions& options, ShadowMode mode);

}  // namespace wattle::sim::consolidation
