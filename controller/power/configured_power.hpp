// configured_power: a NodePower that hands each call to the drivers that the configuration names for the node.
// Source   power_config.hpp
// Errors   not_found (no item of the configuration matches the node); those of the drivers
// Threads  any
#pragma once

#include <memory>
#include <vector>

#include "common/clock.hpp"
#include "controller/power/node_power.hpp"
#include "controller/power/power_config.hpp"

namespace wattle::controller::power {

class ConfiguredPower final : public NodePower {
 public:
  // The clock must outlive this object.
  ConfiguredPower(PowerConfig config, const Clock& clock);
  Result<Capabilities> probe(const Node& node, std::chrono::milliseconds limit) override;
  Status sleep(const Node& node, Depth depth, const Operation& operation) override;
  Status wake(const Node& node, const Operation& operation) override;
  Result<Observation> observe(const Node& node, std::chrono::milliseconds limit) override;

 private:
  struct Item {
    NodeDrivers config;
    std::shared_ptr<NodePower> sleep, wake, observe;  // observe may be null
  };
  Result<const Item*> item_of(const Node& node) const;

  std::vector<Item> items_;
  const Clock& clock_;
};

}  // namespace wattle::controller::power
