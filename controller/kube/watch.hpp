// watch: the nodes and pods of a Kubernetes API server, as they are now.
// Source   list and watch of /api/v1/nodes and /api/v1/pods, those that have succeeded left out; the pod's own service account, or what
//          the configuration names
// Errors   none that end it: an API server that is away, or refuses, is in health(), and what was known stays
// Replicas where they are suggested, who owns their number (replica_owners.hpp)
// Threads  two or three of its own, which call `woken`; the rest any
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

enum class KubeUse { automatic, on, off };  // automatic: where a service account is mounted, or a server is named

struct KubeConfig {
  KubeUse use = KubeUse::automatic;
  std::string server;  // "https://host:port"; empty: the one whose pod this is
  std::string ca_file, token_file;
};

// Absent: there is none to be followed, and that is as it should be.
Result<std::optional<kube::ApiServer>> api_server(const KubeConfig& config);

struct WatchHealth {
  kube::MirrorHealth nodes, pods;
  std::size_t node_count = 0, pod_count = 0;
};

class Watch {
 public:
  Watch(const kube::ApiServer& server, const std::function<void()>& woken, std::uint64_t seed, const Log& log);
  std::vector<kube::Change<kube::Node>> take_nodes() { return nodes_.take(); }
  std::vector<kube::Change<kube::Pod>> take_pods() { return pods_.take(); }
  WatchHealth health() const;
  // Who owns replicas is asked, too, from now on.
  void follow_autoscalers(const kube::ApiServer& server, const Clock& clock, const Log& log) {
    autoscalers_ = std::make_unique<Autoscalers>(server, clock, log);
  }
  const Autoscalers* autoscalers() const { return autoscalers_.get(); }  // null: nobody is asked

 private:
  kube::Copy<kube::Node> nodes_;
  kube::Copy<kube::Pod> pods_;
  kube::Mirror node_mirror_, pod_mirror_;  // go first: they fill the copies
  std::unique_ptr<Autoscalers> autoscalers_;
};

}  // namespace wattle::controller
