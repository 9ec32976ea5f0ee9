#include "placement/sleep/rest_check.hpp"

#include <algorithm>
#include <cmath>

#include "placement/sleep/plan_text.hpp"

namespace wattle::placement::sleep {

RestCheck check_rest(const PlanState& state, std::size_t row, double empty_in_s) {
  const SleepInputs& in = state.in;
  const SleepConfig& config = state.config;
  RestCheck check;
  check.break_even_s = break_even_s(state.cost(row), state.idle_w(row));
  check.why = state.kinds.excluded(state.node(row).facts);
  if (check.why) return check;

  const Resources rest = state.capacity(row), spare = state.spare(row, !state.wakes_in_time(row));
  const double peak_cores = std::max(in.outlook->highest(in.now, config.rules.down_after), state.requested().cpu_cores);
  const double room_cores = rest.cpu_cores - spare.cpu_cores;
  if (room_cores < peak_cores || rest.memory_bytes < state.requested().memory_bytes + spare.memory_bytes) {
    check.why = {ExcludedFor::spare, "without it the awake nodes have " + cores_text(rest.cpu_cores) + ", and " +
                                         cores_text(peak_cores) + " of recent demand and " +
                                         cores_text(spare.cpu_cores) + " of spare are needed"};
    return check;
  }
  const WallTime empty = in.now + from_seconds(empty_in_s);
  const WallTime until = in.outlook->first_above(room_cores, empty, config.longest_gap);
  // The node will be ready one slot earlier.
  const TransitionCost cost = state.cost(row);
  const double early_s = until < empty + config.longest_gap ? wake_lead_s(cost) - cost.wake_s : 0;
  check.gap_s = std::max(0.0, seconds(until - empty) - early_s);
  if (std::isinf(check.break_even_s))
    check.why = {ExcludedFor::saving, "asleep it would draw no less than idle"};
  else if (check.gap_s < config.gap_times * check.break_even_s)
    check.why = {ExcludedFor::gap, "it is expected to be needed again in " + time_text(check.gap_s) +
                                       ", and a sleep must last " + time_text(config.gap_times * check.break_even_s) +
                                       " to be begun"};
  return check;
}

}  // namespace wattle::placement::sleep
