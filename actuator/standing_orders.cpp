#include "actuator/standing_orders.hpp"

#include <algorithm>
#include <utility>

#include "common/cgroup_path.hpp"

namespace wattle::actuator {

using actuation::Level;

namespace {
bool inside(const std::string& path, const std::string& outer) {
  return path.size() > outer.size() && path.starts_with(outer) && path[outer.size()] == '/';
}

bool same_workload(const actuation::Order& one, const actuation::Order& other) {
  return one.level == other.level && one.path == other.path;
}

void normalise(std::vector<actuation::Order>& orders) {
  for (auto& order : orders) order.path = normal_cgroup_path(order.path).value_or(order.path);
}
}  // namespace

void StandingOrders::own(std::vector<actuation::Order> orders) {
  own_ = std::move(orders);
  normalise(own_);
  changed_ = true;
}

void StandingOrders::receive(actuation::Orders orders, MonoTime now) {
  normalise(orders.orders);
  changed_ = changed_ || !agent_ || !std::ranges::equal(agent_->orders, orders.orders, same_workload);
  agent_ = std::move(orders);
  received_ = true;
  received_at_ = now;
}

std::optional<std::map<std::string, Level>> StandingOrders::take_levels(MonoTime now) {
  if (agent_ && now - received_at_ > kSilence) {
    agent_.reset();
    changed_ = received_ = true;
  }
  if (!std::exchange(changed_, false)) return std::nullopt;
  std::map<std::string, Level> levels;
  if (agent_)
    for (const auto& order : agent_->orders) levels[order.path] = order.level;
  for (const auto& order : own_) levels[order.path] = order.level;
  std::erase_if(levels, [](const auto& entry) { return entry.second == Level::off; });
  std::erase_if(levels, [&](const auto& entry) {
    return std::ranges::any_of(levels, [&](const auto& other) { return inside(entry.first, other.first); });
  });
  while (levels.size() > actuation::kMaxWorkloads) levels.erase(std::prev(levels.end()));
  return levels;
}

bool StandingOrders::take_received() { return std::exchange(received_, false); }

}  // namespace wattle::actuator
