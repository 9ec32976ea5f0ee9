// contender: the plan or a network that decides, or that would replace another one, with its reason and its figures.
// Gives    a sentence for people, the same on the page, in the API and on the command line
// Units    difference_ratio: predicted joules of its choices beyond those of `with`, over the larger of the two;
//          negative: it costs less
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/stats/network_trial.hpp"

namespace wattle::controller {

// Comparison on copies of the cluster (placement/judge/paired_simulation).
struct ComparedWith {
  std::string with;
  double difference_ratio = 0;
  std::uint64_t blocks = 0;     // newest blocks of ten decisions that the ratio is the mean of
  std::optional<double> age_s;  // of the newest of them; unset: before a restart
};

// Measured in blocks of time (placement/judge/candidate_trials). Ratios of energy per unit of work beyond the floor's.
struct MeasuredDifference {
  std::string floor;
  double ratio = 0;
  std::optional<double> low, high;   // 95%, valid at any time; unset: too few groups
  std::uint64_t groups = 0;          // of blocks
  std::optional<double> wait_ratio;  // share of pods' time that they waited in its blocks
};

struct Contender {
  std::string who;  // "the plan", "the policy NAME", "the network NAME", "the network learned on this cluster"
  bool serves = false;
  std::string why;          // why it serves or does not; empty: no evidence yet
  std::string certificate;  // the evaluation that was shipped with it; empty: none
  std::vector<ComparedWith> compared;
  std::optional<stats::NetworkState> state = {};  // a network or a measured candidate has one, the plan has none
  std::optional<MeasuredDifference> measured = {};
};

// "the network shipped:weighted is in use: ...", without a full stop.
std::string contender_text(const Contender& one);

}  // namespace wattle::controller
