// cluster_route: reaches the controller of a Kubernetes cluster, with the caller's own permissions.
// Source   the kubeconfig of --kubeconfig and --context; Secret wattle-reader (wattle-operator with --as-operator) and
//          ConfigMap wattle-public in the controller's namespace; ports 7462 and 7461 of Service wattle-controller
// Ends     the forwarding ends with this object, and with the process
// Errors   as cli/cluster and cli/port_forward; not_found (no Secret)
// Threads  main only
#pragma once

#include <memory>
#include <string>

#include "cli/port_forward.hpp"
#include "common/result.hpp"
#include "common/transport/keys.hpp"

namespace wattle::cli {

struct Invocation;

class ClusterRoute {
 public:
  static Result<std::shared_ptr<const ClusterRoute>> open_(const Invocation& invocation);
  ClusterRoute(const ClusterRoute&) = delete;
  ClusterRoute& operator=(const ClusterRoute&) = delete;

  const std::string& server() const { return server_; }
  const std::string& feed() const { return feed_; }
  const transport::KeyPair& key() const { return key_; }
  const std::string& server_key() const { return server_key_; }
  const std::string& key_source() const { return key_source_; }  // "Secret wattle/wattle-reader"

 private:
  ClusterRoute() = default;

  PortForward forward_;
  transport::KeyPair key_;
  std::string server_, feed_, server_key_, key_source_;
};

}  // namespace wattle::cli
