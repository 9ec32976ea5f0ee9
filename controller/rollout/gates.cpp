#include "controller/rollout/gates.hpp"

#include "common/formatted.hpp"

namespace wattle::controller {
namespace {

std::string output_gate(const GateEvidence& evidence) {
  return evidence.nonsense ? "the network's output was invalid" : "";
}

std::string decisions_gate(const GateEvidence& evidence) {
  if (evidence.decisions >= kLeastDecisions) return {};
  return std::to_string(evidence.decisions) + " of " + std::to_string(kLeastDecisions) +
         " decisions needed for a canary";
}

std::string effect_gate(const GateEvidence& evidence) {
  const EffectEstimate& effect = evidence.effect;
  if (!effect.low)
    return "measured blocks: " + std::to_string(effect.treated) + " treated and " + std::to_string(effect.control) +
           " control, " + std::to_string(kLeastBlocks) + " of each are needed";
  return *effect.low < 0 ? "the saving is not significant: its 95% interval reaches below zero" : "";
}

// A rollout over its budget fails, regardless of its saving.
std::string budget_gate(const std::optional<BudgetNow>& budget, std::string (*words)(double, double)) {
  return !budget || budget->measured <= budget->limit ? std::string() : words(budget->measured, budget->limit);
}

std::string waiting_gate(const GateEvidence& evidence) { return budget_gate(evidence.budgets.waiting, waiting_words); }
std::string late_gate(const GateEvidence& evidence) { return budget_gate(evidence.budgets.late, late_words); }

std::string share_and_limit(double share, double limit) {
  const auto percent = [](double ratio) { return formatted(ratio < 0.995 ? "%.2g%%" : "%.0f%%", 100 * ratio); };
  return percent(share) + " of their time (limit " + percent(limit) + ")";
}

}  // namespace

std::string waiting_words(double waited, double limit) {
  return "pods waited for CPU " + share_and_limit(waited, limit);
}
std::string late_words(double late, double limit) {
  return "pods exceeded their soft latency limit " + share_and_limit(late, limit);
}

const std::array<GateCheck, 5> kGateChecks{{
    {"output_check", Mode::canary, output_gate},
    {"decisions", Mode::canary, decisions_gate},
    {"effect", Mode::live, effect_gate},
    {"waiting", Mode::live, waiting_gate},
    {"late", Mode::live, late_gate},
}};

Gate gate_from(Mode mode, const GateEvidence& evidence) {
  if (mode == Mode::live) return {};
  Gate gate{ModeSetting{static_cast<Mode>(static_cast<int>(mode) + 1)}, {}};
  for (const GateCheck& check : kGateChecks)
    if (check.to == gate.next->mode && gate.closed.empty()) gate.closed = check.closed_by(evidence);
  return gate;
}

}  // namespace wattle::controller
