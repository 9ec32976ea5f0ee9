// Agents, ingest and the store's file on a disk that loses power between any two writes. RC_PARAMS=max_success=N runs
// more.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <deque>
#include <random>
#include <set>

#include "common/wire/codec.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/store/store_file.hpp"
#include "tests/unit/controller/helpers.hpp"
#include "tests/unit/controller/store_tables.hpp"
#include "tests/unit/sqlite/crash_disk.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using sqlite::testing::CrashDisk;

namespace {

constexpr std::size_t kNodes = 3;

struct IgnoringSink final : TelemetrySink {
  void on_hello(const wire::Hello&) override {}
  void on_record(const std::string&, const Record&) override {}
  void on_live(const std::string&, const Record&) override {}
  void on_placement(const wire::Placement&) override {}
  void on_lost(const std::string&) override {}
};

struct Queue final : RecordStore {
  std::vector<StoreItem> items;
  bool full() const override { return items.size() >= 200; }
  void add(StoreItem item) override { items.push_back(std::move(item)); }
};

// A record whose numbers follow from its mark. A tenth are out of range, a fifth have no measured energy.
Record made(std::size_t node, const RecordMark& mark) {
  Record record = record_at(mark.seq, mark.incarnation);
  std::mt19937_64 random(node * 1'000'003 + mark.incarnation * 7919 + mark.seq);
  record.node.energy_source = random() % 5 == 0 ? EnergySource::estimated : EnergySource::rapl;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < random() % 5; ++i) {
    WorkloadValues pod = pod_values("pod-" + std::to_string(random() % 4), random() % 1'000'000);
    pod.energy_uj = random() % 1'000'000;
    sum += *pod.energy_uj;
    record.workloads.push_back(std::move(pod));
  }
  record.node.idle_energy_uj = random() % 1'000'000;
  record.node.unattributed_energy_uj = random() % 1'000'000;
  record.node.energy_uj = sum + *record.node.idle_energy_uj + *record.node.unattributed_energy_uj;
  if (random() % 10 == 0) record.node.cpu_used_cores = -1;
  return record;
}

struct Agent {
  std::string name;
  std::size_t index = 0;
  std::uint64_t incarnation = 0, seq = 0;
  std::deque<RecordMark> spool;  // durable, not acknowledged
  std::string route;             // empty: no session
  RecordMark cursor;             // sent in this session
  RecordMark handed_out;         // sent ever
  std::uint64_t credit = 0;
  std::set<RecordMark> appended, acked, dropped;
};

class World {
 public:
  World() {
    options_.path = "store.db";
    options_.database.vfs = CrashDisk::kName;
    options_.database.page_bytes = 1024;
    options_.keep_s = 1'000'000;
    options_.usage.slot_s = 7;
    agents_.resize(kNodes);
    for (std::size_t i = 0; i < kNodes; ++i) {
      agents_[i].name = "n" + std::to_string(i);
      agents_[i].index = i;
      restart_agent(agents_[i]);
    }
    start();
  }
  ~World() { file_.reset(); }

  void append(Agent& agent, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      agent.spool.push_back({agent.incarnation, ++agent.seq});
      agent.appended.insert(agent.spool.back());
    }
  }
  void restart_agent(Agent& agent) {
    ++agent.incarnation;
    agent.seq = 0;
    agent.route.clear();
  }
  // A full spool drops the oldest unsent records of any incarnation, but never the newest of all.
  void overflow(Agent& agent, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const auto oldest = std::find_if(agent.spool.begin(), agent.spool.end(),
                                       [&](const RecordMark& mark) { return mark > agent.handed_out; });
      if (oldest == agent.spool.end() || *oldest == agent.spool.back()) return;
      agent.dropped.insert(*oldest);
      agent.spool.erase(oldest);
    }
  }
  void connect(Agent& agent) {
    agent.route = "r" + std::to_string(++routes_);
    wire::Hello hello = hello_of(agent.name, agent.incarnation);
    const auto answer = say(agent, hello);
    RC_ASSERT(answer.size() == 1);
    const auto* welcome = std::get_if<wire::Welcome>(&answer.front());
    if (welcome == nullptr) {
      agent.route.clear();
      return;
    }
    agent.cursor = {welcome->acked_incarnation, welcome->acked_seq};
    agent.credit = welcome->credit;
    forget(agent, agent.cursor);
  }
  void send(Agent& agent, unsigned count) {
    if (agent.route.empty()) connect(agent);
    if (agent.route.empty()) return;
    wire::Samples samples;
    std::size_t in_flight = 0;
    for (const RecordMark& mark : agent.spool) {
      if (mark <= agent.cursor) {
        ++in_flight;
        continue;
      }
      if (samples.records.size() == count || in_flight + samples.records.size() >= agent.credit) break;
      if (!samples.records.empty() && samples.records.front().incarnation != mark.incarnation) break;
      samples.records.push_back(made(agent.index, mark));
    }
    if (samples.records.empty()) return;
    wire::Samples gaps;
    for (const RecordMark& mark : agent.dropped)
      if (mark.incarnation < samples.records.front().incarnation && mark > agent.cursor) report(gaps, mark);
    if (!gaps.gaps.empty()) take(agent, say(agent, gaps));
    if (agent.route.empty()) return;
    agent.cursor = {samples.records.back().incarnation, samples.records.back().seq};
    agent.handed_out = std::max(agent.handed_out, agent.cursor);
    take(agent, say(agent, samples));
  }
  // Commits a transaction; the power fails after `writes` of its writes.
  void commit(std::optional<unsigned> writes, unsigned seed) {
    disk_.breaks_after = writes ? std::optional<std::uint64_t>(*writes) : std::nullopt;
    const std::vector<StoreItem> batch = std::exchange(queue_.items, {});
    now_s_ += seed % 5;  // so that the ledger is sometimes written
    bool kept = file_->apply(batch, now_s_).has_value();
    if (kept && seed % 3 == 0) kept = file_->checkpoint().has_value();
    if (!kept) return crash(seed);
    disk_.breaks_after.reset();
    for (const StoreItem& item : batch)
      if (const auto answer = telemetry_->committed(item.node, item.mark, 1)) {
        Agent& agent = agents_[static_cast<std::size_t>(item.node.back() - '0')];
        if (seed % 7 != 0 && answer->route == agent.route) take(agent, {answer->message});  // otherwise it is lost
      }
  }
  void crash(unsigned seed) {
    std::mt19937 random(seed);
    disk_.cut_power([&](unsigned below) { return random() % below; });
    disk_.broken = false;
    disk_.breaks_after.reset();
    queue_.items.clear();
    for (Agent& agent : agents_) agent.route.clear();
    telemetry_.reset();
    file_.reset();
    start();
    look();
  }
  // Every acknowledged record is stored once, sums match the raw records, and gaps match the drops.
  void look() {
    const auto raw = StoreTables::raw(*file_);
    RC_ASSERT(raw.has_value());
    std::map<std::string, std::set<RecordMark>> there;
    std::map<std::string, NodeSums> sums;
    std::map<std::tuple<std::string, std::int64_t, std::string>, LedgerRow> rows;
    for (const RawRecord& record : *raw) {
      RC_ASSERT(there[record.node].insert(record.mark).second);
      const auto index = static_cast<std::size_t>(record.node.back() - '0');
      RC_ASSERT(record.bytes == wire::encode_record(made(index, record.mark)));
      add(record, sums[record.node], rows);
    }
    for (const Agent& agent : agents_) {
      RC_ASSERT(
          std::includes(there[agent.name].begin(), there[agent.name].end(), agent.acked.begin(), agent.acked.end()));
      RC_ASSERT(std::includes(agent.appended.begin(), agent.appended.end(), there[agent.name].begin(),
                              there[agent.name].end()));
    }
    const auto gaps = file_->gaps(1'000'000);
    RC_ASSERT(gaps.has_value());
    for (const StoreGap& gap : *gaps) {
      sums[gap.node].missing += static_cast<std::int64_t>(gap.records());
      const Agent& agent = agents_[static_cast<std::size_t>(gap.node.back() - '0')];
      for (std::uint64_t seq = gap.first_seq; seq <= gap.last_seq; ++seq)
        RC_ASSERT((agent.dropped.contains({gap.incarnation, seq})));
    }
    const auto nodes = StoreTables::nodes(*file_);
    RC_ASSERT(nodes.has_value());
    for (const NodeSums& node : *nodes) {
      NodeSums expected = sums[node.node];
      expected.node = node.node;
      RC_ASSERT(node == expected);
    }
    const auto ledger = StoreTables::ledger(*file_);
    RC_ASSERT(ledger.has_value());
    RC_ASSERT(ledger->size() == rows.size());
    for (const LedgerRow& row : *ledger) RC_ASSERT((rows.at({row.node, row.kind, row.name}) == row));
    look_at_report(sums, rows);
  }
  // The hourly report has the same sums, however they are spread over hours and earlier files.
  void look_at_report(const std::map<std::string, NodeSums>& sums,
                      const std::map<std::tuple<std::string, std::int64_t, std::string>, LedgerRow>& rows) {
    UsageQuery query;
    query.by = ReportBy::node;
    const auto report = file_->report(query);
    RC_ASSERT(report.has_value());
    RC_ASSERT(report->missing() == Energy{});
    std::map<std::string, LedgerSums> used;
    for (const auto& [key, row] : rows)
      used[row.node].add({row.records, row.energy_uj, row.estimated_uj, row.cpu_us, 0, 0});
    NodeUse all;
    for (const auto& [name, node] : sums) {
      all.add({{node.energy_uj, node.estimated_uj}, {node.idle_uj, 0}, {node.unattributed_uj, 0}});
      if (node.records == 0) continue;
      const LedgerSums& reported = report->rows.at(name).used;
      RC_ASSERT(
          (Energy{reported.energy_uj, reported.estimated_uj} == Energy{used[name].energy_uj, used[name].estimated_uj}));
      RC_ASSERT(reported.cpu_us == used[name].cpu_us);
    }
    RC_ASSERT(report->nodes.drawn == all.drawn);
    RC_ASSERT(report->nodes.idle.energy_uj + report->nodes.idle.estimated_uj == all.idle.energy_uj);
    RC_ASSERT(report->nodes.unattributed.energy_uj + report->nodes.unattributed.estimated_uj ==
              all.unattributed.energy_uj);
  }
  // Every agent sends its remaining records; then all undropped records are stored, and every drop is in a gap.
  void settle() {
    crash(1);
    for (Agent& agent : agents_) {
      append(agent, 1);
      while (!agent.spool.empty()) {
        send(agent, 64);
        commit({}, 1);
      }
    }
    look();
    const auto nodes = StoreTables::nodes(*file_);
    RC_ASSERT(nodes->size() == kNodes);
    for (std::size_t i = 0; i < kNodes; ++i) {
      const NodeSums& node = (*nodes)[i];
      RC_ASSERT(node.missing == static_cast<std::int64_t>(agents_[i].dropped.size()));
      RC_ASSERT(node.records + node.refused + node.missing == static_cast<std::int64_t>(agents_[i].appended.size()));
    }
  }
  Agent& agent(unsigned number) { return agents_[number % kNodes]; }

 private:
  void start() {
    auto opened = StoreFile::open_(options_);
    if (!opened) RC_FAIL(opened.error().message());
    file_.emplace(std::move(*opened));
    telemetry_.emplace(clock_, log_, sink_, nullptr, &queue_, file_->marks());
  }
  std::vector<wire::Message> say(const Agent& agent, const wire::Message& message) {
    return telemetry_->receive({agent.route, {transport::Role::agent, agent.name}, wire::encode(message)});
  }
  void take(Agent& agent, const std::vector<wire::Message>& answers) {
    for (const wire::Message& message : answers) {
      if (std::holds_alternative<wire::Refusal>(message)) {
        agent.route.clear();
        continue;
      }
      const auto& ack = std::get<wire::Ack>(message);
      RC_ASSERT((RecordMark{ack.incarnation, ack.seq} <= agent.cursor));
      agent.credit = ack.credit;
      forget(agent, {ack.incarnation, ack.seq});
    }
  }
  static void report(wire::Samples& samples, const RecordMark& lost) {
    if (!samples.gaps.empty() && samples.gaps.back().incarnation == lost.incarnation &&
        samples.gaps.back().last_seq + 1 == lost.seq) {
      ++samples.gaps.back().last_seq;
    } else {
      samples.gaps.push_back({lost.incarnation, lost.seq, lost.seq});
    }
  }
  static void forget(Agent& agent, const RecordMark& mark) {
    while (!agent.spool.empty() && agent.spool.front() <= mark) {
      agent.acked.insert(agent.spool.front());
      agent.spool.pop_front();
    }
  }
  static void add(const RawRecord& raw, NodeSums& node,
                  std::map<std::tuple<std::string, std::int64_t, std::string>, LedgerRow>& rows) {
    ++(raw.refused ? node.refused : node.records);
    if (raw.refused) return;
    const Record record = wire::decode_record(raw.bytes).value();
    const bool estimated = record.node.energy_source == EnergySource::estimated;
    const auto number = [](const std::optional<std::uint64_t>& value) { return static_cast<std::int64_t>(*value); };
    std::int64_t sum = number(record.node.idle_energy_uj) + number(record.node.unattributed_energy_uj);
    node.idle_uj += number(record.node.idle_energy_uj);
    node.unattributed_uj += number(record.node.unattributed_energy_uj);
    for (const WorkloadValues& workload : record.workloads) {
      sum += number(workload.energy_uj);
      if (number(workload.energy_uj) == 0 && number(workload.cpu_usage_us) == 0) continue;
      LedgerRow& row = rows[{raw.node, static_cast<std::int64_t>(workload.kind), workload.name}];
      row.node = raw.node;
      row.name = workload.name;
      row.kind = static_cast<std::int64_t>(workload.kind);
      ++row.records;
      (estimated ? row.estimated_uj : row.energy_uj) += number(workload.energy_uj);
      row.cpu_us += number(workload.cpu_usage_us);
    }
    (estimated ? node.estimated_uj : node.energy_uj) += sum;
  }

  CrashDisk disk_;
  ManualClock clock_{mono_from_ns(1'000'000'000)};
  Log log_ = Log::silent();
  IgnoringSink sink_;
  Queue queue_;
  StoreFileOptions options_;
  std::optional<StoreFile> file_;
  std::optional<Telemetry> telemetry_;
  std::vector<Agent> agents_;
  unsigned routes_ = 0;
  std::int64_t now_s_ = 1000;
};

struct Step {
  unsigned kind, number;
};
[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << step.kind << ':' << step.number;
}

void run(const std::vector<Step>& steps) {
  World world;
  for (const auto& [kind, number] : steps) {
    Agent& agent = world.agent(number);
    switch (kind) {
      case 0:
      case 1:
        world.append(agent, 1 + number % 20);
        break;
      case 2:
        world.restart_agent(agent);
        break;
      case 3:
        world.overflow(agent, 1 + number % 9);
        break;
      case 4:
        agent.route.clear();
        break;
      case 5:
      case 6:
      case 7:
        world.send(agent, 1 + number % 30);
        break;
      case 8:
      case 9:
        world.commit({}, number);
        break;
      case 10:
      case 11:
        world.commit(number % 40, number);
        break;
      default:
        world.crash(number);
        break;
    }
  }
  world.settle();
}

}  // namespace

TEST_CASE("after any power cut, every acknowledged record is in the store once, and the sums match the records") {
  CHECK(rc::check([] {
    run(*rc::gen::container<std::vector<Step>>(
        rc::gen::construct<Step>(rc::gen::inRange(0U, 13U), rc::gen::inRange(0U, 1000U))));
  }));
}
