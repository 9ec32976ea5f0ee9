// port_forward: local ports of the Service wattle-controller in a cluster, opened by `kubectl port-forward`.
// Needs    kubectl: port forwarding is a protocol of client-go, which kubectl implements. The Role wattle-reader of the
//          chart grants the permissions
// Ends     with this object, and with the process
// Errors   not_found (no kubectl); unavailable, with kubectl's message
// Threads  main only
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/process.hpp"
#include "common/result.hpp"

namespace wattle::cli {

struct Invocation;

// Reads the local port of a target port from the output of `kubectl port-forward`; empty: not reported yet.
std::string forwarded_port(std::string_view output, std::uint16_t target);

class PortForward {
 public:
  // Waits until kubectl reports a local port for each target port.
  static Result<PortForward> open_(const Invocation& invocation, std::span<const std::uint16_t> targets);
  // Local ports, in the order of the target ports.
  const std::vector<std::string>& ports() const { return ports_; }
  // Fails if kubectl has ended; reads its output, so that the pipe does not fill up.
  Status check();

 private:
  struct End {
    void operator()(Child* child) const;
  };
  std::unique_ptr<Child, End> kubectl_;
  std::vector<std::string> ports_;
};

}  // namespace wattle::cli
