// cluster_route: reaches the controller of a Kubernetes cluster, with the caller's own permissions.
// Source   the kubeconfig of --kubeconfig and --context; ConfigMap wattle-public in the controller's namespace; ports
//          7462, 7461 and 7463 of Service wattle-controller
// Login    a reader's key exists only in this process. The controller admits it for minutes, by a token of the account
//          wattle-reader that the API server issues to the caller. With --as-operator: Secret wattle-operator
// Ends     the forwarding ends with this object, and with the process
// Errors   as cli/cluster, cli/port_forward and common/http/enrol; not_found (no such account, ConfigMap or Secret)
// Threads  one at a time
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/cluster.hpp"
#include "cli/port_forward.hpp"
#include "common/clock.hpp"
#include "common/http/client.hpp"
#include "common/result.hpp"
#include "common/transport/keys.hpp"

namespace wattle::cli {

struct Invocation;

class ClusterRoute {
 public:
  static Result<std::shared_ptr<ClusterRoute>> open_(const Invocation& invocation);
  ClusterRoute(const ClusterRoute&) = delete;
  ClusterRoute& operator=(const ClusterRoute&) = delete;
  // Logs in again before the controller stops admitting the key. Call at least once a minute. An error of the API
  // server counts only once the key is no longer admitted.
  Status keep_valid();

  const std::string& server() const { return server_; }
  const std::string& feed() const { return feed_; }
  const transport::KeyPair& key() const { return key_; }
  const std::string& server_key() const { return server_key_; }
  const std::string& key_source() const { return key_source_; }  // "account wattle/wattle-reader"

 private:
  explicit ClusterRoute(Cluster cluster) : cluster_(std::move(cluster)) {}
  Status read_operator_key(const std::string& path);
  Status open_login(const std::string& ca_pem, const std::string& name_space, const std::string& port);
  Status log_in();

  Cluster cluster_;
  PortForward forward_;
  transport::KeyPair key_;
  std::string server_, feed_, server_key_, key_source_;
  std::string token_target_;               // path of the account's TokenRequest
  std::optional<http::Client> enrolment_;  // unset: the key does not expire
  std::string enrolment_url_;
  SystemClock clock_;
  MonoTime renew_at_{}, valid_until_{};
};

}  // namespace wattle::cli
