// gates: the checks that a rollout must pass before it enters the next mode. docs/reference/rollout.md has the same
// list, and a test compares them.
// Rules    off -> shadow -> canary -> live; a gate is open if no check for the next mode objects
// Units    in names
// Errors   none
// Threads  pure functions
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/rollout/budget_monitor.hpp"
#include "controller/rollout/effect.hpp"
#include "controller/rollout/rollout_spec.hpp"

namespace wattle::controller {

inline constexpr std::uint64_t kLeastDecisions = 100;  // before a canary

struct GateEvidence {
  std::uint64_t decisions = 0;  // of the current experiment
  bool nonsense = false;        // the network's output was out of range in this experiment
  EffectEstimate effect;
  BudgetsNow budgets;  // no value: no budget applies yet
};

struct GateCheck {
  std::string_view name;
  Mode to;
  std::string (*closed_by)(const GateEvidence&);  // reason; empty if the check passes
};

// Evaluated in this order.
extern const std::array<GateCheck, 5> kGateChecks;

struct Gate {
  std::optional<ModeSetting> next;  // no value in the last mode
  std::string closed;               // why; empty if open
};
// Sentences for people.
std::string waiting_words(double waited, double limit);
std::string late_words(double late, double limit);
Gate gate_from(Mode mode, const GateEvidence& evidence);

}  // namespace wattle::controller
