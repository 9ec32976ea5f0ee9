#include "sim/provision/steering.hpp"

namespace wattle::sim::provision {

namespace choice = models::provision;

choice::Setting RuleSteering::minute(std::size_t, const MinuteOfService& seen) {
  return {local_ ? seen.local_rule_margin : seen.sight.rule_margin_ratio, choice::kRuleMemory,
          seen.bounds.least_replicas};
}

Asked ask_teacher(const MinuteOfService& seen) {
  return {choice::observe(seen.sight, seen.bounds), seen.sight, seen.bounds};
}

Asked ask_student(const MinuteOfService& seen) {
  Asked asked{{}, choice::local(seen.sight, seen.local_rule_margin), seen.bounds};
  asked.bounds.least_replicas = asked.bounds.most_replicas = seen.sight.now.replicas;
  asked.observation = choice::observe(asked.sight, asked.bounds);
  return asked;
}

choice::Setting NetworkSteering::minute(std::size_t, const MinuteOfService& seen) {
  const Asked asked = student_ ? ask_student(seen) : ask_teacher(seen);
  return choice::after(choice::best_action(asked.observation, network_.get()), asked.sight, asked.bounds);
}

}  // namespace wattle::sim::provision
