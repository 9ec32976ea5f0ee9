// wol_power: wakes a node with Wake-on-LAN. It can neither put a node to sleep nor observe it.
// Source   UDP to a broadcast address; a packet is sent three times, because none is acknowledged
// Errors   malformed (MAC address), denied, unavailable (no route), io
// Threads  any
#pragma once

#include <string>
#include <utility>

#include "controller/power/node_power.hpp"
#include "controller/power/power_config.hpp"

namespace wattle::controller::power {

class WolPower final : public NodePower {
 public:
  explicit WolPower(WolConfig config) : config_(std::move(config)) {}
  Result<Capabilities> probe(const Node& node, std::chrono::milliseconds limit) override;
  Status sleep(const Node& node, Depth depth, const Operation& operation) override;
  Status wake(const Node& node, const Operation& operation) override;
  Result<Observation> observe(const Node& node, std::chrono::milliseconds limit) override;

 private:
  const WolConfig config_;
};

}  // namespace wattle::controller::power
