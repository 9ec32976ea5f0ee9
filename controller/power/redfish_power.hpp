// redfish_power: puts a node to sleep, wakes and observes it through its BMC's Redfish service.
// Source   ComputerSystem.Reset and PowerState; watts from EnvironmentMetrics or PowerControl of the system's chassis
// Sleeps   by GracefulShutdown or PushPowerButton, never by force: a node that ignores both stays on
// Errors   those of redfish_client.hpp and redfish_answer.hpp; unsupported (no ResetType for it, another depth than
//          off)
// Threads  any
#pragma once

#include <utility>

#include "common/clock.hpp"
#include "controller/power/node_power.hpp"
#include "controller/power/power_config.hpp"

namespace wattle::controller::power {

class RedfishPower final : public NodePower {
 public:
  RedfishPower(RedfishConfig config, const Clock& clock) : config_(std::move(config)), clock_(clock) {}
  Result<Capabilities> probe(const Node& node, std::chrono::milliseconds limit) override;
  Status sleep(const Node& node, Depth depth, const Operation& operation) override;
  Status wake(const Node& node, const Operation& operation) override;
  Result<Observation> observe(const Node& node, std::chrono::milliseconds limit) override;

 private:
  const RedfishConfig config_;
  const Clock& clock_;
};

}  // namespace wattle::controller::power
