#include "controller/kube/watch.hpp"

#include <utility>

namespace wattle::controller {
namespace {

kube::ReflectorOptions options_of(std::string path, std::string selector, std::uint64_t seed) {
  kube::ReflectorOptions options;
  options.path = std::move(path);
  options.selector = std::move(selector);
  options.seed = seed;
  return options;
}

// Excludes status.phase=Succeeded: the server reports a pod that succeeds as deleted. Failed pods are included; a pod
// that no longer matches the selector is reported with its last matching state.
const std::string kNotSucceeded = "fieldSelector=status.phase%21%3DSucceeded";

}  // namespace

Result<std::optional<kube::ApiServer>> api_server(const KubeConfig& config) {
  if (config.use == KubeUse::off) return std::optional<kube::ApiServer>();
  if (!config.server.empty()) {
    WATTLE_TRY(kube::ApiServer server, kube::parse_server(config.server));
    if (server.origin.tls) server.origin.tls->ca_file = config.ca_file;
    server.token_file = config.token_file;
    return std::optional(std::move(server));
  }
  auto mine = kube::in_cluster();
  if (mine) {
    if (!config.token_file.empty()) mine->token_file = config.token_file;
    if (!config.ca_file.empty()) mine->origin.tls->ca_file = config.ca_file;
    return std::optional(std::move(*mine));
  }
  if (config.use == KubeUse::automatic && mine.error().code == Errc::not_found) return std::optional<kube::ApiServer>();
  return forward_error(mine);
}

// A change of a pod does not wake the owner, which takes changes before each ask and at least twenty times a second.
Watch::Watch(const std::function<void()>& woken) : nodes_(kube::read_node, woken), pods_(kube::read_pod, [] {}) {}

void Watch::follow(const kube::ApiServer& server, std::uint64_t seed, const Log& log) {
  node_mirror_.emplace(server, options_of("/api/v1/nodes", "", seed), nodes_, log);
  pod_mirror_.emplace(server, options_of("/api/v1/pods", kNotSucceeded, seed + 1), pods_, log);
}

void Watch::stop() {
  autoscalers_.reset();
  pod_mirror_.reset();
  node_mirror_.reset();
}

WatchHealth Watch::health() const {
  if (!on()) return {};
  return {node_mirror_->health(), pod_mirror_->health(), nodes_.size(), pods_.size()};
}

}  // namespace wattle::controller
