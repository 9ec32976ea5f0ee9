// UsageTable: start and end of pods, and hourly sums of nodes, for the replay of recorded days.
#include <algorithm>

#include "controller/store/usage_table.hpp"

namespace wattle::controller {
namespace {

constexpr const char* kLives =
    "SELECT p.uid, p.namespace, p.owner, p.node, p.placed_s, p.app, p.cpu_millicores, p.memory_bytes, p.ended_s,"
    " p.last_s, n.id FROM pod p LEFT JOIN node n ON n.name = p.node"
    " WHERE p.uid > ? AND p.app <> '' AND p.placed_s > 0 AND max(p.ended_s, p.last_s) >= ? ORDER BY p.uid LIMIT ?";
constexpr const char* kNamespaces = "SELECT uid, namespace FROM pod WHERE namespace <> '' ORDER BY last_s DESC LIMIT ?";
constexpr const char* kUsed = "SELECT cpu_us FROM usage WHERE slot_s = ? AND node = ? AND kind = 0 AND name = ?";
constexpr const char* kOpenSlot =
    "SELECT slot_s, slot_cpu_us FROM ledger WHERE node = ? AND kind = 0 AND name = ? AND slot_s >= 0";
constexpr const char* kNodeHours =
    "SELECT u.slot_s, u.node, n.name, u.energy_uj, u.estimated_uj, u.idle_uj, u.idle_estimated_uj, u.unattributed_uj,"
    " u.unattributed_estimated_uj FROM usage_node u JOIN node n ON n.id = u.node"
    " WHERE (u.slot_s, u.node) > (?, ?) ORDER BY u.slot_s, u.node LIMIT ?";

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> UsageTable::pod_namespaces(std::size_t most) {
  WATTLE_TRY(auto pods, database_->prepare(kNamespaces));
  pods.bind(1, static_cast<std::int64_t>(most));
  std::vector<std::pair<std::string, std::string>> out;
  for (;;) {
    WATTLE_TRY(const bool row, pods.step());
    if (!row) return out;
    out.emplace_back(pods.blob(0), pods.blob(1));
  }
}

Result<UsageTable::Lives> UsageTable::lives(std::string_view after, std::int64_t since_s, std::size_t most) {
  WATTLE_TRY(auto pods, database_->prepare(kLives));
  WATTLE_TRY(auto used, database_->prepare(kUsed));
  WATTLE_TRY(auto open, database_->prepare(kOpenSlot));
  pods.bind_text(1, after);
  pods.bind(2, since_s);
  pods.bind(3, static_cast<std::int64_t>(most));
  Lives out;
  std::size_t hours = 0;
  for (;;) {
    WATTLE_TRY(const bool row, pods.step());
    if (!row) break;
    PodLife life;
    int at = 0;
    for (std::string* text : {&life.pod.uid, &life.pod.name_space, &life.pod.owner, &life.pod.node})
      *text = pods.blob(at++);
    life.pod.placed_s = pods.integer(4);
    life.pod.app = pods.blob(5);
    life.pod.cpu_millicores = pods.integer(6);
    life.pod.memory_bytes = pods.integer(7);
    life.pod.ended_s = pods.integer(8);
    life.last_s = pods.integer(9);
    const std::int64_t node = pods.integer(10);
    const std::int64_t end_s = life.pod.ended_s > 0 ? life.pod.ended_s : life.last_s + bounds_.slot_s;
    for (std::int64_t slot = slot_of(std::max(life.pod.placed_s, from_s_)); slot <= end_s; slot += bounds_.slot_s) {
      ++hours;
      used.bind(1, slot);
      used.bind(2, node);
      used.bind_text(3, life.pod.uid);
      WATTLE_TRY(const bool there, used.step());
      if (there) life.hours.emplace_back(slot, used.integer(0));
      used.reset();
    }
    open.bind(1, node);
    open.bind_text(2, life.pod.uid);
    WATTLE_TRY(const bool goes_on, open.step());
    if (goes_on) life.hours.emplace_back(open.integer(0), open.integer(1));
    open.reset();
    out.pods.push_back(std::move(life));
    if (out.pods.size() < most && hours < kLifeHours) continue;
    out.next = out.pods.back().pod.uid;
    break;
  }
  return out;
}

Result<std::vector<NodeHour>> UsageTable::node_hours(std::int64_t slot_s, std::int64_t node, std::size_t most) {
  WATTLE_TRY(auto rows, database_->prepare(kNodeHours));
  rows.bind(1, slot_s);
  rows.bind(2, node);
  rows.bind(3, static_cast<std::int64_t>(most));
  std::vector<NodeHour> out;
  for (;;) {
    WATTLE_TRY(const bool row, rows.step());
    if (!row) return out;
    const auto at = [&](int column) { return Energy{rows.integer(column), rows.integer(column + 1)}; };
    out.push_back({rows.integer(0), rows.integer(1), std::string(rows.blob(2)), {at(3), at(5), at(7)}});
  }
}

}  // namespace wattle::controller
