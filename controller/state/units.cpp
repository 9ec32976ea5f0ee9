// Confirmed workloads: units in their nodes' records, and their restoration after a restart.
#include <algorithm>
#include <utility>

#include "controller/state/cluster_state.hpp"

namespace wattle::controller {

void ClusterState::recall(const placement::PodSpec& spec, std::uint64_t decision_id) {
  const auto [found, fresh] = pods_.try_emplace(spec.uid);
  if (!fresh) return;
  found->second.spec = spec;
  found->second.decision_id = decision_id;
  found->second.asked_at = now_;
  list(found->second);
}

void ClusterState::rename(const std::string& name, const std::string& from, const std::string& to, WorkloadKind kind) {
  Node* node = find(name);
  if (node == nullptr) return;
  auto entry = node->workloads.extract(from);
  if (entry.empty()) return;
  node->newcomers.note(to);
  entry.key() = to;
  entry.mapped().values.name = to;
  entry.mapped().values.kind = kind;
  node->workloads.erase(to);
  node->workloads.insert(std::move(entry));
}

void ClusterState::call_unit(const std::string& uid, const std::string& unit) {
  const auto found = pods_.find(uid);
  if (found != pods_.end()) found->second.unit = unit;
}

RecordMark ClusterState::newest(const std::string& name) const {
  const Node* node = this->node(name);
  if (node == nullptr) return {};
  const RecordMark shown{node->record_incarnation,
                         node->interval_seq + std::max<std::uint64_t>(node->parts_seen, 1) - 1};
  return node->ahead.empty() ? shown : std::max(shown, node->ahead.back());
}

}  // namespace wattle::controller
