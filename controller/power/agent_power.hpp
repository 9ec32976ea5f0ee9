// agent_power: the driver of nodes whose own agent puts them to sleep, on the controller's SleepOrder. The agent checks
// the depth and may refuse (agent/power). It can neither wake a node nor observe it.
// Errors   unsupported: wake and observe
// Threads  any
#pragma once

#include "controller/power/node_power.hpp"
#include "controller/power/power_config.hpp"

namespace wattle::controller::power {

class AgentPower final : public NodePower {
 public:
  explicit AgentPower(AgentConfig config) : config_(config) {}
  Result<Capabilities> probe(const Node& node, std::chrono::milliseconds limit) override;
  // Does nothing: the order went to the agent.
  Status sleep(const Node& node, Depth depth, const Operation& operation) override;
  Status wake(const Node& node, const Operation& operation) override;
  Result<Observation> observe(const Node& node, std::chrono::milliseconds limit) override;

 private:
  const AgentConfig config_;
};

}  // namespace wattle::controller::power
