// provisioning: sends the workloads and their levels to wattle-actuator at each tick, and receives its reports.
// Source   the sample of the tick; for services their metrics pages (latency.hpp) or connections
//          (connection_latency.hpp); common/actuation defines the messages on the socket
// Rules    configured services and VMs have level `limits` or `protect`. Pods have the level of their annotation
//          wattle.dev/provision, as received from the controller; these two only if the configuration permits it,
//          because a kubelet owns their cgroups. All others have level `suggest`
// Margins  passes on the controller's margins for workloads at level `limits`, if the configuration permits it
// Errors   a missing actuator is retried at the next tick; each problem is logged once
// Threads  single owner; never blocks
#pragma once

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

// Levels in pods' annotations by UID: off, suggest, limits or protect.
using PodLevels = std::map<std::string, std::string>;
// Margins that the controller orders, by name of services and VMs, and by UID of pods.
using Margins = std::map<std::string, wire::MarginStep>;

// Lists those whose cgroups are written first, at most actuation::kMaxWorkloads.
// `requests`: by name of services and VMs.
actuation::Orders orders_of(const ProvisioningConfig& config, const Sample& sample,
                            const std::map<std::string, actuation::Requests>& requests = {},
                            const PodLevels& pod_levels = {}, const Margins& margins = {});

class Provisioning {
 public:
  // Starts a thread that reads metrics pages.
  // `connections` may be null, and must outlive it.
  Provisioning(ProvisioningConfig config, const Log& log, ConnectionLatency* connections = nullptr);
  void report(const Sample& sample, const PodLevels& pod_levels = {}, const Margins& margins = {});
  // Minutes of workloads at level `limits` that ended, as received in the last report().
  const std::vector<LimitMinute>& minutes() const { return minutes_; }
  // Values of the last answered tick. Without a connection, the actuator drops our orders after 10 s.
  const ProvisioningValues& values() const { return values_; }

 private:
  Status receive_orders();
  void lost(const Error& error);
  void take_minute(const actuation::Grant& grant);

  const ProvisioningConfig config_;
  const Log& log_;
  std::optional<Latency> latency_;
  ConnectionLatency* const connections_;
  Fd peer_;
  bool reported_lost_ = false;
  // The actuator reports memory in its minutes; an older one does not accept steps of memory.
  bool reports_memory_ = false;
  MarginalPower marginal_;
  std::map<std::string, std::string> steered_;       // by path: names of those at level limits in the last tick
  std::map<std::string, actuation::Minute> minute_;  // by name: the last minute
  std::vector<LimitMinute> minutes_;
  ProvisioningValues values_;
};

}  // namespace wattle::agent
