// gates: what a rollout must have shown before it goes one mode further. A list; docs/reference/guardrails.md is held to it.
// Rules    off -> shadow -> canary -> live; a gate is open when every check of the next mode has nothing to say
// Units    in names
// Errors   none
// Threads  pure functions
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "controller/rollout/budget_monitor.hpp"
#include "controller/rollout/effect.hpp"
#include "controller/rollout/rollout_spec.hpp"

namespace wattle::controller {

inline constexpr std::uint64_t kLeastDecisions = 100;  // before a canary

struct GateEvidence {
  std::uint64_t decisions = 0;  // of the present experiment
  bool nonsense = false;        // the network has said it in this experiment
  EffectEstimate effect;
  BudgetsNow budgets;                 // absent ones: there is no budget to keep yet
  std::function<std::string()> harm;  // by recent decisions; empty or absent: none
};

struct GateCheck {
  std::string_view name;
  Mode to;
  std::string (*closed_by)(const GateEvidence&);  // empty: it has nothing to say
};

// In the order in which they are asked.
extern const std::array<GateCheck, 7> kGateChecks;

struct Gate {
  std::optional<ModeSetting> next;  // absent: there is nothing beyond
  std::string closed;               // why; empty: open
};
// For people.
std::string waiting_words(double waited, double limit);
std::string late_words(double late, double limit);
Gate gate_from(Mode mode, const GateEvidence& evidence);

}  // namespace wattle::controller
