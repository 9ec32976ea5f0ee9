// provisioning: tells wattle-actuator at each tick which workloads there are and at what level, and hears what became of it.
// Source   the sample of the tick; of services their pages of metrics (latency.hpp) or connections (connection_latency.hpp); common/actuation says what crosses the socket
// Rules    services and VMs that are named have level `limits`; pods what their annotation wattle.dev/provision says, as the
//          controller tells it, but `limits` only where the configuration allows it, for a kubelet owns their cgroups; all others
//          the general level
// Margins  what the controller would have is handed on for services and VMs at level `limits`, where the configuration allows it
// Errors   an actuator that is not there is tried again at the next tick; each trouble is logged once
// Threads  single owner; never waits
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/config.hpp"
#include "agent/connection_latency.hpp"
#include "agent/latency.hpp"
#include "agent/marginal_power.hpp"
#include "agent/metrics.hpp"
#include "agent/sampler.hpp"
#include "common/actuation.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"
#include "common/wire/messages.hpp"

namespace wattle::agent {

// What pods say of themselves, by UID: off, suggest or limits.
using PodLevels = std::map<std::string, std::string>;
// What the controller would have in force, by name of services and VMs.
using Margins = std::map<std::string, wire::MarginStep>;

// Those at level `limits` first; beyond actuation::kMaxWorkloads the rest is left out.
// `requests`: by name of services and VMs.
actuation::Orders orders_of(const ProvisioningConfig& config, const Sample& sample,
                            const std::map<std::string, actuation::Requests>& requests = {},
                            const PodLevels& pod_levels = {}, const Margins& margins = {});

class Provisioning {
 public:
  // Pages of metrics are asked for from here on, by a thread of its own.
  // `connections`: none, or what must outlive it.
  Provisioning(ProvisioningConfig config, const Log& log, ConnectionLatency* connections = nullptr);
  void tell(const Sample& sample, const PodLevels& pod_levels = {}, const Margins& margins = {});
  // Of services and VMs, that ended and that the last tell() heard of.
  const std::vector<LimitMinute>& minutes() const { return minutes_; }
  // Of the last tick that was answered; not connected: nothing is in force by us 10 s from now on.
  const ProvisioningValues& values() const { return values_; }

 private:
  Status hear();
  void lost(const Error& error);
  void take_minute(const actuation::Grant& grant);

  const ProvisioningConfig config_;
  const Log& log_;
  std::optional<Latency> latency_;
  ConnectionLatency* const connections_;
  Fd peer_;
  bool told_lost_ = false;
  bool tells_memory_ = false;  // who listens now told of a minute's memory; a former one takes no step of it
  MarginalPower marginal_;
  std::map<std::string, std::string> steered_;       // by path, those that were told at level limits last: their names
  std::map<std::string, actuation::Minute> minute_;  // by name, the last
  std::vector<LimitMinute> minutes_;
  ProvisioningValues values_;
};

}  // namespace wattle::agent
