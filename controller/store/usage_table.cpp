#include "controller/store/usage_table.hpp"

#include "common/kube/pod.hpp"

namespace wattle::controller {
namespace {

constexpr std::uint64_t kUsageRowOverhead = 48;  // bytes of a row in addition to its texts
const std::string kSums = "energy_uj, estimated_uj, cpu_us, wait_us, pressure_us";
const std::string kSlotSums = "slot_energy_uj, slot_estimated_uj, slot_cpu_us, slot_wait_us, slot_pressure_us";
const std::string kPodLengths =
    "length(uid) + length(namespace) + length(owner) + length(labels) + length(node) + length(app) + length(name)"
    " + length(container_ids) + length(replica_of) + length(unit)";
const std::string kRunsConfirmed = "confirmed = 1 AND ended_s = 0";

// Facts from an API server take precedence over all others.
constexpr const char* kPutPod =
    "INSERT INTO pod(uid, namespace, owner, labels, described, node, placed_s, last_s, app, cpu_millicores,"
    " memory_bytes, ended_s, name, container_ids, replica_of, confirmed, unit, limit_s)"
    " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)"
    " ON CONFLICT(uid) DO UPDATE SET"
    " namespace=CASE WHEN excluded.described >= described AND excluded.namespace <> '' THEN excluded.namespace"
    " ELSE namespace END,"
    " owner=CASE WHEN excluded.described >= described AND excluded.owner <> '' THEN excluded.owner ELSE owner END,"
    " labels=CASE WHEN excluded.described >= described THEN excluded.labels ELSE labels END,"
    " described=max(described, excluded.described),"
    " placed_s=CASE WHEN excluded.placed_s > 0 AND (placed_s = 0 OR node <> excluded.node) THEN excluded.placed_s"
    " ELSE placed_s END,"
    " node=CASE WHEN excluded.placed_s > 0 THEN excluded.node ELSE node END,"
    " last_s=max(last_s, excluded.last_s),"
    " app=CASE WHEN excluded.app <> '' THEN excluded.app ELSE app END,"
    " cpu_millicores=CASE WHEN excluded.app <> '' THEN excluded.cpu_millicores ELSE cpu_millicores END,"
    " memory_bytes=CASE WHEN excluded.app <> '' THEN excluded.memory_bytes ELSE memory_bytes END,"
    " ended_s=CASE WHEN excluded.ended_s > 0 THEN excluded.ended_s WHEN excluded.placed_s > 0 THEN 0 ELSE ended_s END,"
    " name=CASE WHEN excluded.name <> '' THEN excluded.name ELSE name END, container_ids=excluded.container_ids,"
    " replica_of=CASE WHEN excluded.replica_of <> '' THEN excluded.replica_of ELSE replica_of END,"
    " unit=CASE WHEN excluded.confirmed = 1 THEN excluded.unit ELSE unit END,"
    " limit_s=CASE WHEN excluded.confirmed = 1 THEN excluded.limit_s ELSE limit_s END,"
    " confirmed=max(confirmed, excluded.confirmed)";

constexpr const char* kLives =
    "SELECT p.uid, p.namespace, p.owner, p.node, p.placed_s, p.app, p.cpu_millicores, p.memory_bytes, p.ended_s,"
    " p.last_s, n.id FROM pod p LEFT JOIN node n ON n.name = p.node"
    " WHERE p.uid > ? AND p.app <> '' AND p.placed_s > 0 AND max(p.ended_s, p.last_s) >= ? ORDER BY p.uid LIMIT ?";
constexpr const char* kUsed = "SELECT cpu_us FROM usage WHERE slot_s = ? AND node = ? AND kind = 0 AND name = ?";
constexpr const char* kOpenSlot =
    "SELECT slot_s, slot_cpu_us FROM ledger WHERE node = ? AND kind = 0 AND name = ? AND slot_s >= 0";

std::string empty_slots(const std::string& which) {
  return "UPDATE ledger SET slot_s = -1, slot_energy_uj = 0, slot_estimated_uj = 0, slot_cpu_us = 0, slot_wait_us = 0,"
         " slot_pressure_us = 0 WHERE " +
         which + " AND slot_s >= 0";
}

LedgerSums sums_at(const sqlite::Statement& row, int column) {
  const auto at = [&](int next) { return row.integer(column + next); };
  return {0, at(0), at(1), at(2), at(3), at(4)};
}

}  // namespace

void PodFacts::merge(PodFacts later) {
  if (later.described >= described) {
    if (!later.name_space.empty()) name_space = std::move(later.name_space);
    if (!later.owner.empty()) owner = std::move(later.owner);
    labels = std::move(later.labels);
    described = later.described;
  }
  if (!later.name.empty()) name = std::move(later.name);
  if (!later.replica_of.empty()) replica_of = std::move(later.replica_of);
  if (later.confirmed) {
    confirmed = true;
    unit = std::move(later.unit);
    limit_s = later.limit_s;
  }
  container_ids = kube::merge_container_ids(container_ids, later.container_ids);
  if (!later.app.empty()) {
    app = std::move(later.app);
    cpu_millicores = later.cpu_millicores;
    memory_bytes = later.memory_bytes;
  }
  if (later.ended_s > 0 || later.placed_s > 0) ended_s = later.ended_s;
  if (later.placed_s == 0) return;
  if (placed_s == 0 || node != later.node) placed_s = later.placed_s;
  node = std::move(later.node);
}

Result<UsageTable> UsageTable::open_(sqlite::Database& database, const UsageBounds& bounds) {
  UsageTable table(database, bounds);
  WATTLE_CHECK(table.prepare());
  WATTLE_CHECK(table.load());
  return table;
}

Status UsageTable::prepare() {
  WATTLE_TRY(add_node_,
             database_->prepare(
                 "INSERT INTO usage_node VALUES(?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT(slot_s, node) DO UPDATE SET " +
                 added({"energy_uj", "estimated_uj", "idle_uj", "idle_estimated_uj", "unattributed_uj",
                        "unattributed_estimated_uj"})));
  WATTLE_TRY(size_of_, database_->prepare("SELECT " + kPodLengths + ", container_ids FROM pod WHERE uid = ?"));
  WATTLE_TRY(put_, database_->prepare(kPutPod));
  return {};
}

Status UsageTable::load() {
  // Earlier rows would not cover the time in which nothing is kept, so they are deleted.
  if (!kept())
    return database_->run("DELETE FROM usage; DELETE FROM usage_node; DELETE FROM pod WHERE NOT (" + kRunsConfirmed +
                          "); UPDATE progress SET usage_from_s = 0; " + empty_slots("1"));
  WATTLE_TRY(auto statement,
             database_->prepare("SELECT node, max(slot_s) FROM ledger WHERE slot_s >= 0 GROUP BY node"));
  WATTLE_CHECK(statement.each([&](const sqlite::Statement& row) { slots_[row.integer(0)] = row.integer(1); }));
  WATTLE_TRY(const auto usage, bytes_of("usage", "length(name)", "1"));
  WATTLE_TRY(const auto nodes, bytes_of("usage_node", "0", "1"));
  WATTLE_TRY(const auto pods, bytes_of("pod", kPodLengths, "1"));
  bytes_ = bytes_before_ = usage + nodes + pods;
  WATTLE_TRY(from_s_, database_->integer("SELECT usage_from_s FROM progress"));
  from_before_s_ = from_s_;
  return {};
}

Result<std::uint64_t> UsageTable::bytes_of(const std::string& table, const std::string& lengths,
                                           const std::string& which) {
  WATTLE_TRY(const auto bytes,
             database_->integer("SELECT coalesce(sum(" + lengths + "), 0) + count(*) * " +
                                std::to_string(kUsageRowOverhead) + " FROM " + table + " WHERE " + which));
  return static_cast<std::uint64_t>(bytes);
}

Status UsageTable::begin_slot(std::int64_t node, std::int64_t slot_s) {
  const auto begun = begun_.find(node);
  const auto before = slots_.find(node);
  const std::int64_t open = begun != begun_.end() ? begun->second : before != slots_.end() ? before->second : -1;
  if (open == slot_s || !kept()) return {};
  begun_[node] = slot_s;
  return close_rows("node = " + std::to_string(node));
}

Status UsageTable::close_rows(const std::string& which) {
  if (!kept()) return {};
  WATTLE_TRY(const auto bytes, bytes_of("ledger", "length(name)", which + " AND slot_s >= 0"));
  bytes_ += bytes;
  WATTLE_CHECK(database_->run("INSERT INTO usage(slot_s, node, kind, name, " + kSums +
                              ") SELECT slot_s, node, kind, name, " + kSlotSums + " FROM ledger WHERE " + which +
                              " AND slot_s >= 0 ON CONFLICT(slot_s, node, kind, name) DO UPDATE SET " +
                              added({"energy_uj", "estimated_uj", "cpu_us", "wait_us", "pressure_us"})));
  // Keeps the pods of used workloads as long as their use.
  WATTLE_CHECK(
      database_->run("UPDATE pod SET last_s = max(last_s, used.slot_s) FROM (SELECT name, slot_s FROM ledger"
                     " WHERE " +
                     which + " AND slot_s >= 0) AS used WHERE pod.uid = used.name"));
  return database_->run(empty_slots(which));
}

Status UsageTable::add_node(std::int64_t node, std::int64_t slot_s, const NodeUse& use, std::int64_t since_s) {
  if (!kept()) return {};
  if (from_s_ == 0) WATTLE_CHECK(keep_from(since_s));
  WATTLE_CHECK(add_node_->run(slot_s, node, use.drawn.energy_uj, use.drawn.estimated_uj, use.idle.energy_uj,
                              use.idle.estimated_uj, use.unattributed.energy_uj, use.unattributed.estimated_uj));
  if (begun_.contains(node)) bytes_ += kUsageRowOverhead;
  return {};
}

void UsageTable::settle(bool committed) {
  if (committed) {
    for (const auto& [node, slot_s] : begun_) slots_[node] = slot_s;
    bytes_before_ = bytes_;
    from_before_s_ = from_s_;
  } else {
    bytes_ = bytes_before_;
    from_s_ = from_before_s_;
  }
  begun_.clear();
}

Status UsageTable::trim(std::int64_t now_s) {
  WATTLE_TRY(const auto oldest, database_->integer("SELECT coalesce(min(slot_s), -1) FROM usage_node"));
  const std::int64_t end_s = oldest + bounds_.slot_s;
  if (oldest < 0 || end_s > slot_of(now_s)) return {};
  if (bytes_ <= bounds_.max_bytes && end_s >= now_s - bounds_.keep_s) return {};
  return drop_before(end_s);
}

Status UsageTable::drop_before(std::int64_t slot_s) {
  const std::string older = " < " + std::to_string(slot_s);
  const auto drop = [&](const std::string& table, const std::string& lengths, const std::string& which) -> Status {
    WATTLE_TRY(const auto bytes, bytes_of(table, lengths, which));
    bytes_ -= std::min(bytes_, bytes);
    return database_->run("DELETE FROM " + table + " WHERE " + which);
  };
  WATTLE_CHECK(drop("usage", "length(name)", "slot_s" + older));
  WATTLE_CHECK(drop("usage_node", "0", "slot_s" + older));
  WATTLE_CHECK(drop("pod", kPodLengths, "last_s" + older + " AND NOT (" + kRunsConfirmed + ")"));
  return keep_from(std::max(from_s_, slot_s));
}

Status UsageTable::keep_from(std::int64_t at_s) {
  from_s_ = at_s;
  return database_->run("UPDATE progress SET usage_from_s = " + std::to_string(at_s));
}

Status UsageTable::put(std::span<const PodFacts> pods, std::int64_t now_s) {
  const auto all = [&]() -> Status {
    WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
    for (const PodFacts& pod : pods) {
      size_of_->bind_all(pod.uid);
      WATTLE_TRY(const bool there, size_of_->step());
      const std::uint64_t before = there ? static_cast<std::uint64_t>(size_of_->integer(0)) + kUsageRowOverhead : 0;
      const std::string container_ids =
          there ? kube::merge_container_ids(size_of_->blob(1), pod.container_ids) : pod.container_ids;
      size_of_->reset();
      const bool surplus = !kept() || bytes_ > bounds_.max_bytes + bounds_.max_bytes / 2;
      if (!there && surplus && !pod.runs_confirmed()) continue;
      bytes_ += pod.bytes() + kUsageRowOverhead - std::min<std::uint64_t>(before, pod.bytes() + kUsageRowOverhead);
      WATTLE_CHECK(put_->run(pod.uid, pod.name_space, pod.owner, pod.labels, pod.described, pod.node, pod.placed_s,
                             now_s, pod.app, pod.cpu_millicores, pod.memory_bytes, pod.ended_s, pod.name, container_ids,
                             pod.replica_of, pod.confirmed, pod.unit, pod.limit_s));
    }
    return transaction.commit();
  };
  Status done = all();
  settle(done.has_value());
  return done;
}

Status UsageTable::each_pod(const std::function<void(const PodFacts&)>& take) {
  WATTLE_TRY(auto statement,
             database_->prepare(
                 "SELECT uid, namespace, owner, labels, described, node, placed_s, name, container_ids FROM pod"));
  PodFacts pod;
  return statement.each([&](const sqlite::Statement& row) {
    int at = 0;
    for (std::string* text : {&pod.uid, &pod.name_space, &pod.owner, &pod.labels}) *text = row.blob(at++);
    pod.described = row.integer(4) != 0;
    pod.node = row.blob(5);
    pod.placed_s = row.integer(6);
    pod.name = row.blob(7);
    pod.container_ids = row.blob(8);
    take(pod);
  });
}

Result<std::vector<PodFacts>> UsageTable::running(std::size_t most) {
  WATTLE_TRY(auto statement,
             database_->prepare(
                 "SELECT uid, namespace, owner, labels, node, app, name, container_ids, replica_of, unit, described,"
                 " placed_s, cpu_millicores, memory_bytes, confirmed, limit_s FROM pod WHERE ended_s = 0"
                 " ORDER BY confirmed DESC, last_s DESC"));
  std::vector<PodFacts> pods;
  std::size_t others = 0;
  for (;;) {
    WATTLE_TRY(const bool row, statement.step());
    if (!row) return pods;
    PodFacts pod;
    int at = 0;
    for (std::string* text : {&pod.uid, &pod.name_space, &pod.owner, &pod.labels, &pod.node, &pod.app, &pod.name,
                              &pod.container_ids, &pod.replica_of, &pod.unit})
      *text = statement.blob(at++);
    pod.described = statement.integer(10) != 0;
    pod.placed_s = statement.integer(11);
    pod.cpu_millicores = statement.integer(12);
    pod.memory_bytes = statement.integer(13);
    pod.confirmed = statement.integer(14) != 0;
    pod.limit_s = statement.integer(15);
    if (!pod.confirmed && ++others > most) return pods;
    pods.push_back(std::move(pod));
  }
}

Status UsageTable::each_workload(std::int64_t slot_s, const TakeSums& take) {
  const auto from = [&](const std::string& sums, const char* table) {
    std::string sql = "SELECT node, kind, name, ";
    sql.append(sums).append(" FROM ").append(table).append(" WHERE slot_s >= ");
    return sql.append(std::to_string(std::max<std::int64_t>(slot_s, 0)));
  };
  for (const std::string& sql : {from(kSums, "usage"), from(kSlotSums, "ledger")}) {
    WATTLE_TRY(auto statement, database_->prepare(sql));
    WATTLE_CHECK(statement.each(
        [&](const sqlite::Statement& row) { take(row.integer(0), row.integer(1), row.blob(2), sums_at(row, 3)); }));
  }
  return {};
}

Status UsageTable::each_node(std::int64_t slot_s, const std::function<void(std::int64_t, const NodeUse&)>& take) {
  WATTLE_TRY(auto statement, database_->prepare("SELECT node, energy_uj, estimated_uj, idle_uj, idle_estimated_uj,"
                                                " unattributed_uj, unattributed_estimated_uj FROM usage_node"
                                                " WHERE slot_s >= " +
                                                std::to_string(slot_s)));
  return statement.each([&](const sqlite::Statement& row) {
    const auto at = [&](int column) { return Energy{row.integer(column), row.integer(column + 1)}; };
    take(row.integer(0), {at(1), at(3), at(5)});
  });
}

Result<std::vector<std::pair<std::string, std::string>>> UsageTable::pod_namespaces(std::size_t most) {
  using Pod = std::pair<std::string, std::string>;
  return database_->select<Pod>(
      "SELECT uid, namespace FROM pod WHERE namespace <> '' ORDER BY last_s DESC LIMIT ?",
      [](const sqlite::Statement& row) { return Pod(row.blob(0), row.blob(1)); }, most);
}

Result<UsageTable::Lives> UsageTable::lives(const std::string& after, std::int64_t since_s, std::size_t most) {
  WATTLE_TRY(auto pods, database_->prepare(kLives));
  WATTLE_TRY(auto used, database_->prepare(kUsed));
  WATTLE_TRY(auto open, database_->prepare(kOpenSlot));
  pods.bind_all(after, since_s, most);
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
      used.bind_all(slot, node, life.pod.uid);
      WATTLE_TRY(const bool there, used.step());
      if (there) life.hours.emplace_back(slot, used.integer(0));
      used.reset();
    }
    open.bind_all(node, life.pod.uid);
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
  return database_->select<NodeHour>(
      "SELECT u.slot_s, u.node, n.name, u.energy_uj, u.estimated_uj, u.idle_uj, u.idle_estimated_uj, u.unattributed_uj,"
      " u.unattributed_estimated_uj FROM usage_node u JOIN node n ON n.id = u.node"
      " WHERE (u.slot_s, u.node) > (?, ?) ORDER BY u.slot_s, u.node LIMIT ?",
      [](const sqlite::Statement& row) {
        const auto at = [&](int column) { return Energy{row.integer(column), row.integer(column + 1)}; };
        return NodeHour{row.integer(0), row.integer(1), std::string(row.blob(2)), {at(3), at(5), at(7)}};
      },
      slot_s, node, most);
}

}  // namespace wattle::controller
