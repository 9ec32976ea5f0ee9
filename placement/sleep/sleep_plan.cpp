#include "placement/sleep/sleep_plan.hpp"

#include <algorithm>
#include <array>

#include "placement/sleep/drain_search.hpp"
#include "placement/sleep/plan_text.hpp"
#include "placement/sleep/rest_check.hpp"
#include "placement/sleep/wake_search.hpp"

namespace wattle::placement::sleep {

namespace {

constexpr std::array<std::string_view, 6> kWakeNames{"pending_pod", "lost_node",       "bound_pod",
                                                     "demand",      "expected_demand", "excluded"};

class Planning {
 public:
  Planning(const SleepInputs& in, const SleepConfig& config) : in_(in), config_(config), state_(in, config) {}

  SleepPlan run() {
    for (std::size_t row = 0; row < state_.fleet.nodes.size(); ++row) plan_.watts += state_.watts(row);
    search_wakes(state_, plan_);
    std::vector<std::size_t> empty, used;
    sort_rows(empty, used);
    sleep_empty(empty);
    drain_one(used);
    std::stable_sort(plan_.kept.begin(), plan_.kept.end(),
                     [](const KeptAwake& a, const KeptAwake& b) { return a.row < b.row; });
    finish();
    return std::move(plan_);
  }

 private:
  void keep(std::size_t row, Exclusion why) { plan_.kept.push_back({row, in_.nodes[row].name, std::move(why)}); }
  bool calm() const { return plan_.wakes.empty() && plan_.unplaceable.empty(); }
  bool is_empty(std::size_t row) const { return in_.nodes[row].pods.empty() && state_.fleet.nodes[row].pods == 0; }
  std::size_t sleeps_left() const {
    const std::size_t begun = in_.ledger->sleeps_within(in_.now, std::chrono::hours(1)) + plan_.sleeps.size();
    return begun < config_.rules.sleeps_per_hour ? config_.rules.sleeps_per_hour - begun : 0;
  }
  void sort_rows(std::vector<std::size_t>& empty, std::vector<std::size_t>& used);
  void sleep_empty(std::vector<std::size_t>& rows);
  void drain_one(const std::vector<std::size_t>& rows);
  void finish();

  const SleepInputs& in_;
  const SleepConfig& config_;
  PlanState state_;
  SleepPlan plan_;
};

// Finds the awake nodes that no rule about a single node excludes, and the reasons of the others.
void Planning::sort_rows(std::vector<std::size_t>& empty, std::vector<std::size_t>& used) {
  for (std::size_t row = 0; row < in_.nodes.size(); ++row) {
    const SleepNode& node = in_.nodes[row];
    const PowerState state = node.record.state;
    if (state != PowerState::awake && state != PowerState::blocked) continue;
    Exclusion why = excluded_alone(node.facts, node.record, in_.now, config_.rules, in_.recommending);
    if (!why && !node.ready) why = {ExcludedFor::not_ready, "it is not ready"};
    if (!why && !state_.awake[row]) why = {ExcludedFor::not_ready, "it accepts no pods now"};
    if (!why && !is_empty(row) && !node.facts.emptied_by.empty())
      why = {ExcludedFor::other_drain, node.facts.emptied_by};
    if (why)
      keep(row, std::move(why));
    else
      (is_empty(row) ? empty : used).push_back(row);
  }
}

void Planning::sleep_empty(std::vector<std::size_t>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return in_.nodes[a].order > in_.nodes[b].order; });
  for (const std::size_t row : rows) {
    if (!calm()) {
      keep(row, {ExcludedFor::spare, "pods wait for a node, or nodes wake"});
      continue;
    }
    if (sleeps_left() == 0) {
      keep(row, {ExcludedFor::rate, std::to_string(config_.rules.sleeps_per_hour) + " nodes began to sleep this hour"});
      continue;
    }
    RestCheck check = check_rest(state_, row, 0);
    if (check.why) {
      keep(row, std::move(check.why));
      continue;
    }
    const SleepNode& node = in_.nodes[row];
    const double saving_j = saved_j(state_.cost(row), state_.idle_w(row), check.gap_s);
    plan_.sleeps.push_back(
        {row,
         node.name,
         node.facts.depth,
         {},
         check.gap_s,
         check.break_even_s,
         saving_j,
         "empty; not needed for " + time_text(check.gap_s) + ", pays off after " + time_text(check.break_even_s)});
    state_.sleeps(row);
  }
}

void Planning::drain_one(const std::vector<std::size_t>& rows) {
  const auto why_none = [&]() -> Exclusion {
    if (!config_.drains) return {ExcludedFor::has_pods, "it has pods, and drains are off"};
    if (!calm() || !in_.pending.empty()) return {ExcludedFor::spare, "pods wait for a node, or nodes wake"};
    if (std::any_of(in_.nodes.begin(), in_.nodes.end(),
                    [](const SleepNode& node) { return node.record.state == PowerState::draining; }))
      return {ExcludedFor::one_drain, "another node is being emptied"};
    // A recommendation does not act, so it shows both savings.
    if (!plan_.sleeps.empty() && !in_.recommending) return {ExcludedFor::one_drain, "empty nodes go to sleep first"};
    if (sleeps_left() == 0) return {ExcludedFor::rate, "enough nodes began to sleep this hour"};
    return {};
  }();
  if (why_none) {
    for (const std::size_t row : rows) keep(row, why_none);
    return;
  }
  std::optional<SleepChoice> choice = search_drain(state_, rows, plan_.kept);
  if (!choice) return;
  state_.sleeps(choice->row);
  plan_.sleeps.push_back(std::move(*choice));
}

void Planning::finish() {
  std::vector<char> asleep(in_.nodes.size());
  for (const SleepChoice& sleep : plan_.sleeps) asleep[sleep.row] = 1;
  for (std::size_t row = 0; row < in_.nodes.size(); ++row) {
    const FleetNode& there = state_.fleet.nodes[row];
    if (asleep[row])
      plan_.watts_after += state_.cost(row).asleep_w;
    else if (state_.available(row))
      plan_.watts_after += there.watts_at(there.used_cores);
    else
      plan_.watts_after += state_.watts(row);
  }
  const Resources rest = state_.capacity(), requested = state_.requested();
  plan_.spare = {rest.cpu_cores - requested.cpu_cores, rest.memory_bytes - requested.memory_bytes};
}

}  // namespace

std::string_view to_string(WakeFor cause) { return kWakeNames[static_cast<std::size_t>(cause)]; }

SleepPlan plan_sleep(const SleepInputs& in, const SleepConfig& config) { return Planning(in, config).run(); }

}  // namespace wattle::placement::sleep
