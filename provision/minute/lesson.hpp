// lesson: the example from which a student learns one minute: the student's view of the state, and the probabilities of
// its teacher's choices.
// Errors   none
// Threads  pure functions
#pragma once

#include "models/frozen/trainer.hpp"
#include "provision/minute/choice.hpp"

namespace wattle::models::provision {

inline constexpr double kLessonTemperature = 0.05;  // of costs, in the probabilities

// `own`: the view of the student; only its valid actions count. `whole`: the view of the teacher. Null teacher: the
// integral rule, on rungs.
PolicyExample lesson(Observation own, const Observation& whole, const QNetwork* teacher,
                     double temperature = kLessonTemperature);

// The teacher's choice in a lesson.
std::size_t taught_action(const PolicyExample& lesson);

// State as the node of a service sees it: without memory, which students leave to the rule.
LocalView view_on_a_node(ServiceMinute state, double rule_margin_ratio);

}  // namespace wattle::models::provision
