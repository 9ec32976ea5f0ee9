// service: a running shim: HTTP server, ask pool and feed; optionally a second HTTP server for probes and metrics.
// Rules    POST /prioritize and /filter answer every well-formed request with 200, and a malformed one with 400 and its
//          mistake. If the node names of a malformed request are readable, filter passes them, because an error would
//          fail the pod. POST /preempt keeps the nodes that /filter would accept, so that no pod is evicted for a pod
//          that /filter refuses. /livez is 200 while the shim's threads run; /readyz as soon as it listens, because it
//          can always answer; the body describes the state
// Errors   at start: key files, endpoints, listen address
// Threads  HTTP workers, feed, beat, ZeroMQ; all end in the destructor
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "common/service_notify.hpp"
#include "shim/config.hpp"
#include "shim/standby.hpp"

namespace wattle::shim {

class Service {
 public:
  // Clock, log and notify must outlive the service. Calls notify.alive() ten times a second while no thread hangs.
  // Without a standby process, kube-scheduler waits while the shim hangs.
  static Result<Service> start(const ShimConfig& config, const Clock& clock, const Log& log, ServiceNotify& notify,
                               std::unique_ptr<Standby> standby = nullptr);
  Service(Service&&) noexcept;
  ~Service();
  std::uint16_t port() const;
  std::optional<std::uint16_t> http_port() const;  // port of the second endpoint, if configured

 private:
  struct Impl;
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::shim
