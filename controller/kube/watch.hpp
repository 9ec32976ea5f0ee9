// watch: mirrors the current nodes and pods of a Kubernetes API server.
// Source   list and watch of /api/v1/nodes and /api/v1/pods without succeeded pods, with the pod's own service account
//          or the configured credentials
// Errors   none are fatal: health() reports an API server that cannot be reached or denies access, and the last known
//          state stays
// Replicas if suggestions are on, also mirrors the autoscalers that own them (replica_owners.hpp)
// Threads  starts two or three threads, which call `woken`; other calls from any
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/kube/copy.hpp"
#include "common/kube/mirror.hpp"
#include "controller/kube/replica_owners.hpp"

namespace wattle::controller {

enum class KubeUse { automatic, on, off };  // automatic: if a service account is mounted or a server is configured

struct KubeConfig {
  KubeUse use = KubeUse::automatic;
  std::string server;  // "https://host:port"; empty: the API server of this pod's cluster
  std::string ca_file, token_file;
};

// No value if the configuration needs no API server.
Result<std::optional<kube::ApiServer>> api_server(const KubeConfig& config);

struct WatchHealth {
  kube::MirrorHealth nodes, pods;
  std::size_t node_count = 0, pod_count = 0;
};

class Watch {
 public:
  // Starts without an API server, nodes and pods.
  explicit Watch(const std::function<void()>& woken = {});
  void follow(const kube::ApiServer& server, std::uint64_t seed, const Log& log);
  // Ends the threads.
  void stop();
  bool on() const { return pod_mirror_.has_value(); }
  std::vector<kube::Change<kube::Node>> take_nodes() { return nodes_.take(); }
  std::vector<kube::Change<kube::Pod>> take_pods() { return pods_.take(); }
  WatchHealth health() const;
  // Starts to mirror the owners of replicas.
  void follow_autoscalers(const kube::ApiServer& server, const Clock& clock, const Log& log) {
    autoscalers_ = std::make_unique<Autoscalers>(server, clock, log);
  }
  const Autoscalers* autoscalers() const { return autoscalers_.get(); }  // null if they are not mirrored

 private:
  kube::Copy<kube::Node> nodes_;
  kube::Copy<kube::Pod> pods_;
  std::optional<kube::Mirror> node_mirror_, pod_mirror_;  // they fill the copies, so they are destroyed before these
  std::unique_ptr<Autoscalers> autoscalers_;
};

}  // namespace wattle::controller
