// service: a running shim: the HTTP server in front, the ask pool and the feed behind; where it is told to, a second one for probes
//          and metrics alone.
// Rules    POST /prioritize and /filter answer every well-formed request with 200; a malformed one with 400 that names the mistake, but
//          filter passes the nodes of one whose names can be read: an error there would fail the pod.
//          POST /preempt keeps the nodes that /filter would accept, so that no pod is evicted for a pod that /filter refuses.
//          /livez is 200 while its threads turn; /readyz as soon as it listens, since it can always answer: its body tells how
// Errors   at start: key files, endpoints, listen address
// Threads  the HTTP workers, the feed's, the beat's, ZeroMQ's; all end in the destructor
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "common/service_notify.hpp"
#include "shim/config.hpp"

namespace wattle::shim {

class Service {
 public:
  // Clock, log and notify, which hears of every half second in which it works, must outlive it.
  static Result<Service> start(const ShimConfig& config, const Clock& clock, const Log& log, ServiceNotify& notify);
  Service(Service&&) noexcept;
  ~Service();
  std::uint16_t port() const;
  std::optional<std::uint16_t> http_port() const;  // of the second endpoint, where the configuration names one

 private:
  struct Impl;
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::shim
