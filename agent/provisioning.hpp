// provisioning: tells wattle-actuator at each tick which workloads there are and at what level, and hears what became of it.
// Source   the sample of the tick, and the pages of metrics of services (latency.hpp); common/actuation says what crosses the socket
// Rules    services and VMs that are named have level `limits`, all others, and pods always, the general level: a kubelet owns
//          pods' limits
// Errors   an actuator that is not there is tried again at the next tick; each trouble is logged once
// Threads  single owner; never waits
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/config.hpp"
#include "agent/latency.hpp"
#include "agent/metrics.hpp"
#include "agent/sampler.hpp"
#include "common/actuation.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"

namespace wattle::agent {

// Named workloads first; beyond actuation::kMaxWorkloads the rest is left out.
// `requests`: by name of services and VMs.
actuation::Orders orders_of(const ProvisioningConfig& config, const Sample& sample,
                            const std::map<std::string, actuation::Requests>& requests = {});

class Provisioning {
 public:
  // Pages of metrics are asked for from here on, by a thread of its own.
  Provisioning(ProvisioningConfig config, const Log& log);
  void tell(const Sample& sample);
  // Of the last tick that was answered; not connected: nothing is in force by us 10 s from now on.
  const ProvisioningValues& values() const { return values_; }

 private:
  Status hear();
  void lost(const Error& error);

  const ProvisioningConfig config_;
  const Log& log_;
  std::optional<Latency> latency_;
  Fd peer_;
  bool told_lost_ = false;
  ProvisioningValues values_;
};

}  // namespace wattle::agent
