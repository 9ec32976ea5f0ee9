#include "controller/power/configured_power.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "controller/power/exec_power.hpp"
#include "controller/power/ipmi_power.hpp"
#include "controller/power/redfish_power.hpp"
#include "controller/power/time_left.hpp"
#include "controller/power/wol_power.hpp"

namespace wattle::controller::power {
namespace {

// Stands for nodes whose own agent puts them to sleep, by the controller's SleepOrder. The agent checks the depth and
// may refuse (agent/power).
class AgentPower final : public NodePower {
 public:
  explicit AgentPower(AgentConfig config) : config_(config) {}
  Result<Capabilities> probe(const Node&, std::chrono::milliseconds) override {
    return Capabilities{.depths = {config_.depth}};
  }
  Status sleep(const Node&, Depth, const Operation&) override { return {}; }  // the order went to the agent
  Status wake(const Node& node, const Operation&) override {
    return fail(Errc::unsupported, node.name, "an agent cannot wake its node", "name another driver for wake");
  }
  Result<Observation> observe(const Node& node, std::chrono::milliseconds) override {
    return fail(Errc::unsupported, node.name, "an agent cannot observe its node", "name another driver for observe");
  }

 private:
  const AgentConfig config_;
};

std::shared_ptr<NodePower> make_driver(const NodeDrivers& config, DriverKind kind, const Clock& clock) {
  switch (kind) {
    case DriverKind::exec:
      return make_exec_power(*config.exec, clock);
    case DriverKind::redfish:
      return std::make_shared<RedfishPower>(*config.redfish, clock);
    case DriverKind::ipmi:
      return make_ipmi_power(*config.ipmi, clock);
    case DriverKind::wol:
      return make_wol_power(*config.wol);
    case DriverKind::agent:
      return std::make_shared<AgentPower>(*config.agent);
    case DriverKind::none:
      break;
  }
  return nullptr;
}

}  // namespace

ConfiguredPower::ConfiguredPower(PowerConfig config, const Clock& clock) : clock_(clock) {
  for (NodeDrivers& drivers : config.nodes) {
    std::map<DriverKind, std::shared_ptr<NodePower>> made;
    for (const DriverKind kind : {drivers.sleep, drivers.wake, drivers.observe})
      if (!made.contains(kind)) made[kind] = make_driver(drivers, kind, clock);
    items_.push_back({std::move(drivers), nullptr, nullptr, nullptr});
    Item& item = items_.back();
    item.sleep = made[item.config.sleep];
    item.wake = made[item.config.wake];
    item.observe = made[item.config.observe];
  }
}

Result<const ConfiguredPower::Item*> ConfiguredPower::item_of(const Node& node) const {
  const auto found =
      std::find_if(items_.begin(), items_.end(), [&](const Item& item) { return item.config.matches(node); });
  if (found == items_.end())
    return fail(Errc::not_found, node.name, "no item of the power configuration matches this node", "add one");
  return &*found;
}

Result<Capabilities> ConfiguredPower::probe(const Node& node, std::chrono::milliseconds limit) {
  WATTLE_TRY(const Item* const item, item_of(node));
  const TimeLeft time(clock_, limit);
  WATTLE_TRY(Capabilities out, item->sleep->probe(node, time.left()));
  const Capabilities sleeper = out;
  if (item->wake != item->sleep) {
    WATTLE_TRY(const Capabilities waker, item->wake->probe(node, time.left()));
    out.can_wake = waker.can_wake;
    out.wake_s = waker.wake_s;
  }
  out.can_observe = false;
  if (item->observe == item->sleep) {
    out.can_observe = sleeper.can_observe;
  } else if (item->observe) {
    WATTLE_TRY(const Capabilities observer, item->observe->probe(node, time.left()));
    out.can_observe = observer.can_observe;
    if (!out.asleep_w) out.asleep_w = observer.asleep_w;
  }
  if (item->config.wake_s) out.wake_s = item->config.wake_s;
  if (item->config.asleep_w) out.asleep_w = item->config.asleep_w;
  return out;
}

Status ConfiguredPower::sleep(const Node& node, Depth depth, const Operation& operation) {
  WATTLE_TRY(const Item* const item, item_of(node));
  return item->sleep->sleep(node, depth, operation);
}

Status ConfiguredPower::wake(const Node& node, const Operation& operation) {
  WATTLE_TRY(const Item* const item, item_of(node));
  return item->wake->wake(node, operation);
}

Result<Observation> ConfiguredPower::observe(const Node& node, std::chrono::milliseconds limit) {
  WATTLE_TRY(const Item* const item, item_of(node));
  if (!item->observe) return Observation{};
  return item->observe->observe(node, limit);
}

}  // namespace wattle::controller::power
