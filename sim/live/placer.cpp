#include "sim/live/placer.hpp"

#include <utility>

#include "common/json/value.hpp"
#include "sim/live/cgroup_pods.hpp"

namespace wattle::sim::live {

namespace {

constexpr std::chrono::milliseconds kSwarmTimeout{500};

std::string swarm_pod(const SimPod& pod, const std::string& node) {
  return SortedJson{{"uid", pod.spec.uid},
                    {"name", pod.spec.name},
                    {"node", node},
                    {"cpu_request_cores", pod.spec.request.cpu_cores},
                    {"memory_request_bytes", pod.spec.request.memory_bytes},
                    {"demand_cores", pod.mean_demand_cores}}
      .dump();
}

}  // namespace

Placer::Placer(const Addresses& at, std::chrono::milliseconds deadline, std::int64_t weight, std::uint64_t seed,
               const Clock& clock, const Log& log)
    : log_(log),
      extender_(at.shim, deadline, clock),
      observer_(at.swarm, at.controller, at.shim),
      swarm_(at.swarm.host, at.swarm.port),
      weight_(weight),
      random_(seed) {}

void Placer::begin(std::vector<DriveNode> nodes) {
  nodes_ = std::move(nodes);
  ledger_.emplace(nodes_);
  const auto body = get(swarm_, "/pods", kSwarmTimeout);
  if (!body) return;
  const auto document = SortedJson::read(*body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  if (!document.is_object() || !document.contains("pods") || !document["pods"].is_array()) return;
  for (const auto& pod : document["pods"]) {
    const std::string uid = pod.is_object() ? pod.value("uid", "") : "";
    if (process_of_marked_uid(uid) != 0) withdraw(uid);
  }
}

std::optional<std::size_t> Placer::choose(const placement::PodSpec& pod, const KubePod& request, bool real_usable,
                                          std::optional<std::size_t> pinned) {
  std::vector<std::size_t> feasible;
  std::vector<std::string> names, closed;
  std::vector<KubeNode> kube;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!fits(ledger_->kube_nodes()[i], request) || (nodes_[i].real && !real_usable)) continue;
    if (observer_.closed.contains(nodes_[i].server.name)) {
      closed.push_back(nodes_[i].server.name);
      continue;
    }
    feasible.push_back(i);
    names.push_back(nodes_[i].server.name);
    kube.push_back(ledger_->kube_nodes()[i]);
  }
  if (pinned) names = {nodes_[*pinned].server.name};
  if (names.empty() && !closed.empty()) static_cast<void>(extender_.prioritize(pod, closed));
  if (names.empty()) return std::nullopt;
  // kube-scheduler does not ask for scores of a single node, but only this request contains the pod's name.
  const std::vector<std::int64_t> scores = extender_.prioritize(pod, names);
  if (pinned) return pinned;
  const auto winner = select_node(kube, request, scores, weight_, random_);
  return winner ? std::optional(feasible[*winner]) : std::nullopt;
}

void Placer::place(std::size_t node, const SimPod& pod, const LedgerPod& ledger_pod) {
  ledger_->place(node, ledger_pod);
  if (nodes_[node].real) return;
  const auto made = pods_.emplace(pod.spec.uid, Delivery{swarm_pod(pod, nodes_[node].server.name)}).first;
  deliver(made->first, made->second);
}

void Placer::remove(const std::string& uid) {
  ledger_->remove(uid);
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  if (found->second.done && !withdraw(uid)) to_withdraw_.insert(uid);
  pods_.erase(found);
}

void Placer::remove_all() {
  for (const auto& [uid, pod] : pods_)
    if (!withdraw(uid)) break;
  pods_.clear();
}

void Placer::read_swarm() {
  const auto view = observer_.swarm();
  if (!view) return;
  for (const DriveNode& seen : view->nodes)
    for (DriveNode& node : nodes_)
      if (!node.real && node.server.name == seen.server.name) {
        node.latency_ms = seen.latency_ms;
        node.power = seen.power;
      }
  ledger_->set_power(nodes_);
  const std::string before = std::exchange(swarm_epoch_, view->epoch);
  if (before.empty() || before == view->epoch) return;
  ++swarm_restarts_;
  log_.warn("drive.swarm_restarted", "the swarm has restarted; its pods are started again");
  for (auto& [uid, pod] : pods_) pod.done = false;
}

void Placer::look_at_controller() {
  observer_.look_at_controller();
  for (DriveNode& node : nodes_) {
    if (!node.real) continue;
    for (const ControllerNode& row : observer_.nodes)
      if (row.name == node.server.name) node.latency_ms = row.latency_ms;
  }
}

void Placer::retry() {
  for (auto uid = to_withdraw_.begin(); uid != to_withdraw_.end();)
    uid = withdraw(*uid) ? to_withdraw_.erase(uid) : std::next(uid);
  for (auto& [uid, pod] : pods_) {
    if (pod.done) continue;
    ++retries_;
    if (!deliver(uid, pod)) return;
  }
}

bool Placer::deliver(const std::string& uid, Delivery& pod) {
  const auto answer = swarm_.request("POST", "/pods", pod.body, kSwarmTimeout);
  if (!answer) return false;
  if (answer->status != 201)
    log_.warn("drive.pod_refused", "the swarm rejected a pod",
              {{"pod", uid}, {"status", answer->status}, {"answer", answer->body}});
  pod.done = true;
  return true;
}

bool Placer::withdraw(const std::string& uid) {
  return swarm_.request("DELETE", "/pods/" + uid, "", kSwarmTimeout).has_value();  // 404: it is gone already
}

}  // namespace wattle::sim::live
