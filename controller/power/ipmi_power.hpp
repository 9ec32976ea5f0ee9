// ipmi_power: puts a node to sleep, wakes and observes it over IPMI 2.0, with ipmitool.
// Source   `ipmitool -I lanplus ... chassis power status|soft|on`, as a user with the privilege OPERATOR; the password
//          is in a file in memory that only this ipmitool has
// Sleeps   by `soft`, which asks the operating system (ACPI), never by force
// Errors   those of credentials.hpp and bounded_process.hpp; denied (user, password, privilege), unavailable (no
//          answer), unsupported (cipher suite; another depth than off), malformed, io; keeps ipmitool's output
// Threads  any
#pragma once

#include <utility>

#include "common/clock.hpp"
#include "controller/power/node_power.hpp"
#include "controller/power/power_config.hpp"
#include "controller/power/time_left.hpp"

namespace wattle::controller::power {

class IpmiPower final : public NodePower {
 public:
  IpmiPower(IpmiConfig config, const Clock& clock) : config_(std::move(config)), clock_(clock) {}
  Result<Capabilities> probe(const Node& node, std::chrono::milliseconds limit) override;
  Status sleep(const Node& node, Depth depth, const Operation& operation) override;
  Status wake(const Node& node, const Operation& operation) override;
  Result<Observation> observe(const Node& node, std::chrono::milliseconds limit) override;

 private:
  Result<std::string> run(const Node& node, const char* command, const TimeLeft& time) const;
  Result<PowerState> read_state(const Node& node, const TimeLeft& time) const;
  Status turn(const Node& node, PowerState wanted, const char* command, const Operation& operation) const;

  const IpmiConfig config_;
  const Clock& clock_;
};

}  // namespace wattle::controller::power
