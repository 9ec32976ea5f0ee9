#include "controller/power/agent_power.hpp"

namespace wattle::controller::power {

Result<Capabilities> AgentPower::probe(const Node&, std::chrono::milliseconds) {
  return Capabilities{.depths = {config_.depth}};
}

Status AgentPower::sleep(const Node&, Depth, const Operation&) { return {}; }

Status AgentPower::wake(const Node& node, const Operation&) {
  return fail(Errc::unsupported, node.name, "an agent cannot wake its node", "name another driver for wake");
}

Result<Observation> AgentPower::observe(const Node& node, std::chrono::milliseconds) {
  return fail(Errc::unsupported, node.name, "an agent cannot observe its node", "name another driver for observe");
}

}  // namespace wattle::controller::power
