#include "sim/live/twin.hpp"

#include "common/json/value.hpp"

namespace wattle::sim::live {

namespace {
constexpr std::chrono::milliseconds kTwinTimeout{500};
}  // namespace

std::string swarm_pod(const std::string& name, const std::string& node, const SimPod& pod) {
  return SortedJson{{"uid", pod.spec.uid},
                    {"name", name},
                    {"node", node},
                    {"cpu_request_cores", pod.spec.request.cpu_cores},
                    {"memory_request_bytes", pod.spec.request.memory_bytes},
                    {"demand_cores", pod.mean_demand_cores}}
      .dump();
}

Twin::Twin(const Addresses& at, std::chrono::milliseconds deadline, std::int64_t weight, std::uint64_t seed,
           const std::vector<DriveNode>& nodes, const Clock& clock)
    : extender_(at.shim, deadline, clock),
      observer_(at.swarm, at.controller, at.shim),
      swarm_(at.swarm.host, at.swarm.port),
      weight_(weight),
      random_(seed),
      nodes_(nodes),
      ledger_(nodes) {}

void Twin::place(const SimPod& pod, const LedgerPod& ledger_pod, std::optional<std::size_t> fixed) {
  if (fixed) return ledger_.place(*fixed, ledger_pod);
  std::vector<std::size_t> feasible;
  std::vector<std::string> names, closed;
  std::vector<KubeNode> kube;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].real || !fits(ledger_.kube_nodes()[i], ledger_pod.request)) continue;
    if (observer_.closed.contains(nodes_[i].server.name)) {
      closed.push_back(nodes_[i].server.name);
      continue;
    }
    feasible.push_back(i);
    names.push_back(nodes_[i].server.name);
    kube.push_back(ledger_.kube_nodes()[i]);
  }
  if (names.empty() && !closed.empty()) static_cast<void>(extender_.prioritize(pod.spec, closed));  // wakes one
  std::vector<std::int64_t> scores(feasible.size(), 0);
  if (feasible.size() > 1) scores = extender_.prioritize(pod.spec, names);
  const auto winner = select_node(kube, ledger_pod.request, scores, weight_, random_);
  if (!winner) return;
  ledger_.place(feasible[*winner], ledger_pod);
  to_deliver_.emplace(pod.spec.uid, swarm_pod(pod.spec.name, names[*winner], pod));
  retry();
}

void Twin::look(const std::vector<DriveNode>& nodes) {
  observer_.look_at_controller();
  if (const auto view = observer_.swarm()) {
    for (DriveNode& node : nodes_)
      for (const DriveNode& seen : view->nodes)
        if (!node.real && node.server.name == seen.server.name) node.power = seen.power;
    ledger_.set_power(nodes_);
  }
  ledger_.set_latencies(nodes);
}

void Twin::remove(const std::string& uid) {
  ledger_.remove(uid);
  to_deliver_.erase(uid);
  if (delivered_.erase(uid) > 0 && !withdraw(uid)) to_withdraw_.insert(uid);
}

void Twin::retry() {
  for (auto uid = to_withdraw_.begin(); uid != to_withdraw_.end();)
    uid = withdraw(*uid) ? to_withdraw_.erase(uid) : std::next(uid);
  while (!to_deliver_.empty()) {
    const auto next = to_deliver_.begin();
    if (!swarm_.request("POST", "/pods", next->second, kTwinTimeout)) return;
    delivered_.insert(next->first);
    to_deliver_.erase(next);
  }
}

void Twin::remove_all() {
  for (const std::string& uid : delivered_)
    if (!withdraw(uid)) break;
  delivered_.clear();
  to_deliver_.clear();
}

bool Twin::withdraw(const std::string& uid) {
  return swarm_.request("DELETE", "/pods/" + uid, "", kTwinTimeout).has_value();  // 404: it is gone already
}

}  // namespace wattle::sim::live
