#include "sim/provision/steering.hpp"

namespace wattle::sim::provision {

namespace choice = models::provision;

choice::Setting RuleSteering::minute(std::size_t, const MinuteOfService& seen) {
  return {local_ ? seen.local_rule_margin : seen.state.rule_margin_ratio, choice::kRuleMemory,
          seen.bounds.least_replicas};
}

Asked ask_teacher(const MinuteOfService& seen) {
  return {choice::observe(seen.state, seen.bounds), seen.state, seen.bounds};
}

Asked ask_student(const MinuteOfService& seen) {
  return choice::local_view(seen.state, seen.local_rule_margin, seen.bounds);
}

choice::Setting NetworkSteering::minute(std::size_t service, const MinuteOfService& seen) {
  if (student_) {
    const auto chosen = choice::choose_locally(seen.state, seen.local_rule_margin, seen.bounds, network_.get());
    return chosen ? *chosen : RuleSteering(true).minute(service, seen);
  }
  const Asked asked = ask_teacher(seen);
  return choice::after(choice::best_action(asked.observation, network_.get()), asked.state, asked.bounds);
}

}  // namespace wattle::sim::provision
