#include "controller/power/empty_orders.hpp"

#include <algorithm>

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {

bool is_to_sleep(const core::NodePowerRecord& record) {
  using core::PowerState;
  return !record.wake_pending && (record.state == PowerState::idle || record.state == PowerState::draining ||
                                  record.state == PowerState::suspending || record.state == PowerState::asleep);
}

}  // namespace

bool EmptyOrders::wait_for_plan(std::optional<MonoTime> planned) const {
  return std::any_of(orders_.begin(), orders_.end(),
                     [&](const auto& item) { return !planned || *planned < item.second.first; });
}

Result<core::PowerState> EmptyOrders::answer(const std::string& node, const core::NodePowerRecord* record,
                                             const core::SleepPlan* plan, std::optional<MonoTime> planned,
                                             MonoTime now) {
  std::erase_if(orders_, [&](const auto& item) { return now - item.second.last > kForgottenAfter; });
  if (record == nullptr)
    return fail(Errc::not_found, node, "does not sleep by itself",
                "set sleep.mode: auto and the node's label wattle.dev/sleep=auto");
  if (is_to_sleep(*record)) {
    orders_.erase(node);
    return record->state;
  }
  if (!takes_pods(*record)) {
    orders_.erase(node);
    return fail(Errc::conflict, node, "is " + std::string(to_string(record->state)), "wait until it is awake");
  }
  Order& order = orders_.try_emplace(node, Order{now, now}).first->second;
  order.last = now;
  if (plan == nullptr || !planned || *planned < order.first)
    return fail(Errc::unavailable, node, "the plan that decides is not ready yet", "try again in a moment");
  orders_.erase(node);
  for (const core::KeptAwake& kept : plan->kept)
    if (kept.node == node)
      return fail(Errc::conflict, node, "stays awake: " + kept.why.reason, "see wattle sleep plan");
  return fail(Errc::conflict, node, "stays awake: no plan chooses it", "see wattle sleep plan");
}

}  // namespace wattle::controller::power
