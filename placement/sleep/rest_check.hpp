// rest_check: checks whether the other nodes can do without a node, for how long, and whether its sleep saves energy.
// Units    in names
// Errors   none
// Threads  pure function
#pragma once

#include "placement/sleep/plan_state.hpp"

namespace wattle::placement::sleep {

struct RestCheck {
  Exclusion why;  // none: the node may sleep
  double gap_s = 0, break_even_s = 0;
};

// `empty_in_s`: time until the node can begin to sleep; the gap begins then.
RestCheck check_rest(const PlanState& state, std::size_t row, double empty_in_s);

}  // namespace wattle::placement::sleep
