#include "placement/decide/decided_by.hpp"

namespace wattle::placement {

std::string decided_by(const RankedBy& by, Verdict verdict) {
  if (verdict == Verdict::deferred) return "defer";
  if (verdict == Verdict::neutral) return "neutral";
  if (verdict == Verdict::bound) return "bound";
  if (verdict == Verdict::explored) return "explore";
  if (!by.policy.learns) return by.policy.name == "planner" ? "plan" : "rule";
  if (!by.gate.empty()) return by.by_rule ? "rule" : "plan";
  if (by.with_network && !by.silent) return by.keeps_plan ? "plan" : "network";
  return by.with_network && by.planned ? "plan" : "fallback";
}

std::string reason_of(const RankedBy& by, bool explored) {
  const std::string of_preset = by.preset == Preset::weighted ? "" : " for " + std::string(to_string(by.preset));
  std::string reason(by.policy.reason);
  if (!by.gate.empty()) {
    reason = by.gate;
  } else if (by.policy.learns && !by.with_network) {
    reason = "highest predicted reward" + of_preset + ": no network is in use yet";
  } else if (by.silent && by.planned) {
    reason = std::string("the plan's choice: the network adds nothing") +
             (by.life_known ? "" : ", because it was trained on pods that end and the end of this pod is unknown");
  } else if (by.silent) {
    reason = "highest predicted reward" + of_preset + ": the network adds nothing";
    if (by.preset == Preset::weighted) reason += " without a plan";
  } else if (by.keeps_plan && !explored) {
    reason = "the plan's choice: no other node's Q is higher by more than the network's margin";
  } else if (by.policy.learns) {
    reason += of_preset;
  }
  if (explored) reason = "explored within the safe margin; " + reason;
  return reason;
}

std::string equal_reason(const RankedBy& by, std::size_t feasible) {
  const bool by_prior = by.policy.learns && (!by.with_network || by.silent);
  return "neutral: all " + std::to_string(feasible) + " feasible nodes have the same value by the " +
         (by_prior ? "predicted reward" : "policy") + ", so the scheduler's own scores decide";
}

}  // namespace wattle::placement
