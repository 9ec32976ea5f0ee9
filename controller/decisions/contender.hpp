// contender: a policy or a network that decides, or that would replace another one, with its reason and its figures.
// Gives    a sentence for people, the same on the page, in the API and on the command line
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/stats/network_trial.hpp"

namespace wattle::controller {

// Measured in blocks of time (placement/judge/candidate_trials). Ratios of energy per unit of work beyond the floor's.
struct MeasuredDifference {
  std::string floor;
  double ratio = 0;
  std::optional<double> low, high;   // 95%, valid at any time; unset: too few groups
  std::uint64_t groups = 0;          // of blocks
  std::optional<double> wait_ratio;  // share of pods' time that they waited in its blocks
};

struct Contender {
  std::string who;  // "the policy NAME", "the network NAME", "the network learned on this cluster"
  bool serves = false;
  std::string why;                                // why it serves or does not; empty: no evidence yet
  std::string certificate;                        // the evaluation that was shipped with it; empty: none
  std::optional<stats::NetworkState> state = {};  // a floor that is not in use has none
  std::optional<MeasuredDifference> measured = {};
};

// "the network shipped:weighted is in use: ...", without a full stop.
std::string contender_text(const Contender& one);

}  // namespace wattle::controller
