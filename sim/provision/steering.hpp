// steering: sets margin, memory and replicas of services once a minute, by the integral rule or by a network with
// discrete settings.
// Errors   none
// Threads  single owner; networks are immutable and may be shared
#pragma once

#include <memory>

#include "sim/provision/steered.hpp"

namespace wattle::sim::provision {

// The margin follows latency, or throttling if `local`. Memory is a fixed share above its peak; replicas stay.
class RuleSteering final : public Steering {
 public:
  explicit RuleSteering(bool local = false) : local_(local) {}
  models::provision::Setting minute(std::size_t service, const MinuteOfService& seen) override;

 private:
  bool local_;
};

// Input of a network. A student sees only what a node sees, and does not change replicas.
using Asked = models::provision::LocalView;
Asked ask_teacher(const MinuteOfService& seen);
Asked ask_student(const MinuteOfService& seen);

class NetworkSteering final : public Steering {
 public:
  // Null network: only the prior. If a student's output is not finite: the rule by throttling, as on a node.
  NetworkSteering(std::shared_ptr<const models::QNetwork> network, bool student)
      : network_(std::move(network)), student_(student) {}
  models::provision::Setting minute(std::size_t service, const MinuteOfService& seen) override;

 private:
  std::shared_ptr<const models::QNetwork> network_;
  bool student_;
};

}  // namespace wattle::sim::provision
