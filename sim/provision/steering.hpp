// steering: who moves margin, memory and replicas of services once a minute: the integral rule, or a network on rungs.
// Errors   none
// Threads  single owner; networks are immutable and may be shared
#pragma once

#include <memory>

#include "sim/provision/steered.hpp"

namespace wattle::sim::provision {

// The margin that latency asks for; where `local`, that throttling does. Memory a fixed share over its peak, replicas as they were.
class RuleSteering final : public Steering {
 public:
  explicit RuleSteering(bool local = false) : local_(local) {}
  models::provision::Setting minute(std::size_t service, const MinuteOfService& seen) override;

 private:
  bool local_;
};

// What a network sees of it. Students see what a node does, and leave replicas alone.
using Asked = models::provision::LocalView;
Asked ask_teacher(const MinuteOfService& seen);
Asked ask_student(const MinuteOfService& seen);

class NetworkSteering final : public Steering {
 public:
  // Without a network: the prior alone. A student that says what is not finite: the rule by throttling, as on a node.
  NetworkSteering(std::shared_ptr<const models::QNetwork> network, bool student)
      : network_(std::move(network)), student_(student) {}
  models::provision::Setting minute(std::size_t service, const MinuteOfService& seen) override;

 private:
  std::shared_ptr<const models::QNetwork> network_;
  bool student_;
};

}  // namespace wattle::sim::provision
