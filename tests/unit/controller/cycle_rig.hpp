// cycle_rig: power_cycles over machines, agents, an API server and a disk in memory. Calls run at once, on a manual
// clock.
// Restart  restart() loses all but the disk, the machines and the API server
// Faults   as the fields say; each until it is reset
// Threads  single owner
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/power/power_cycles.hpp"
#include "tests/unit/controller/fake_power.hpp"

namespace wattle::controller::power {

// The data that survives a crash.
struct Disk {
  std::map<std::string, PowerRow> nodes;
  std::vector<SleepTransition> transitions;
  std::string sums;
  bool full = false, slow = false;
  std::vector<std::pair<PowerRows, std::promise<Result<std::string>>>> waiting;

  void apply(const PowerRows& rows) {
    for (const PowerRow& row : rows.nodes) nodes[row.node] = row;
    transitions.insert(transitions.end(), rows.transitions.begin(), rows.transitions.end());
    if (!rows.sums.empty()) sums = rows.sums;
  }
  // Writes the pending rows to disk.
  void finish() {
    for (auto& [rows, answer] : std::exchange(waiting, {})) {
      apply(rows);
      answer.set_value(std::string());
    }
  }
};

class MemoryStore final : public PowerStore {
 public:
  explicit MemoryStore(Disk& disk) : disk_(disk) {}
  Result<PowerRows> load() override {
    PowerRows rows;
    for (const auto& [node, row] : disk_.nodes) rows.nodes.push_back(row);
    rows.transitions = disk_.transitions;
    rows.sums = disk_.sums;
    return rows;
  }
  std::future<Result<std::string>> keep(PowerRows rows) override {
    std::promise<Result<std::string>> answer;
    auto future = answer.get_future();
    if (disk_.slow) {
      disk_.waiting.emplace_back(std::move(rows), std::move(answer));
    } else if (disk_.full) {
      answer.set_value(fail(Errc::exhausted, "store.db", "the disk is full", "free space"));
    } else {
      disk_.apply(rows);
      answer.set_value(std::string());
    }
    return future;
  }

 private:
  Disk& disk_;
};

class FakeMarks final : public NodeMarks {
 public:
  using Record = placement::sleep::NodePowerRecord;
  bool down = false;
  std::set<std::string> marked;
  std::map<std::string, std::size_t> evictions;  // by UID
  std::map<std::string, Evicted> answers;        // by UID; accepted without an entry
  std::vector<std::string> events;

  Status mark(const std::string& node, const Record& record) override {
    WATTLE_CHECK(reach(node));
    CHECK(record.state != placement::sleep::PowerState::failed);
    marked.insert(node);
    return {};
  }
  Status unmark(const std::string& node, const Record&) override {
    WATTLE_CHECK(reach(node));
    marked.erase(node);
    return {};
  }
  Status annotate(const std::string& node, const Record&) override { return reach(node); }
  Result<Evicted> evict(const placement::sleep::Move& pod) override {
    WATTLE_CHECK(reach(pod.pod));
    const auto found = answers.find(pod.pod);
    if (found != answers.end()) return found->second;
    ++evictions[pod.pod];
    return Evicted::accepted;
  }
  Status event(const std::string& node, const NodeEvent& event) override {
    WATTLE_CHECK(reach(node));
    events.push_back(node + " " + event.reason);
    return {};
  }

 private:
  Status reach(const std::string& subject) const {
    if (down) return fail(Errc::unavailable, subject, "the API server does not answer", "check it");
    return {};
  }
};

struct CycleRig {
  using State = placement::sleep::PowerState;
  ManualClock clock{MonoTime{} + std::chrono::hours(1), wall_from_ns(1'800'000'000'000'000'000)};
  Log log = Log::silent();
  Disk disk;
  std::shared_ptr<FakePower> machines = std::make_shared<FakePower>();
  std::shared_ptr<FakeMarks> marks;
  std::unique_ptr<PowerCycles> cycles;
  std::set<std::string> names, silent, reluctant, mute_agents;  // agents: silent, unwilling, without a goodbye
  std::map<std::string, std::string> pods;                      // one pod of a node
  std::map<std::string, std::uint64_t> promised;                // pending goodbyes
  std::vector<std::pair<std::string, wire::SleepOrder>> orders;
  std::size_t cluster_pods = 100;
  std::string held_by;   // another program that keeps every node empty
  bool emptied = false;  // another program empties every node
  bool observable = true, by_agent = false, pods_read = true;
  std::optional<double> metered_w;  // power by the agents' meters; unset: no meters
  PowerCycles::Around around{clock, log, {}, {}, {}};

  explicit CycleRig(bool api = true, std::size_t nodes = 1) {
    around.rules.proven_round_trips = 0;
    if (api) marks = std::make_shared<FakeMarks>();
    for (std::size_t i = 1; i <= nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      names.insert(name);
      machines->add(name);
    }
    restart();
    step();
  }
  void restart() {
    cycles.reset();
    for (auto& [rows, answer] : disk.waiting) answer.set_value(fail(Errc::unavailable, "store", "is closed"));
    disk.waiting.clear();
    promised.clear();
    cycles = std::make_unique<PowerCycles>(around, std::make_unique<MemoryStore>(disk), machines, marks, 0);
    REQUIRE(cycles->load());
    cycles->on_send([this](const std::string& node, const wire::SleepOrder& order) -> Status {
      if (!runs(node)) return fail(Errc::unavailable, node, "its agent is not connected");
      orders.emplace_back(node, order);
      if (!order.granted && order.depth != "awake" && !mute_agents.contains(node)) promised[node] = order.operation;
      return {};
    });
  }
  bool runs(const std::string& node) const {
    return machines->machine(node).state == power::PowerState::on && !silent.contains(node);
  }
  NodeNow now(const std::string& node) {
    NodeNow now;
    now.node.name = node;
    now.managed = true;
    now.by_agent = by_agent;
    now.fresh = now.ready = runs(node);
    if (now.fresh) {
      energy_j[node] += metered_w.value_or(0);  // over the last second
      sampled[node] = clock.mono();
    }
    if (metered_w && sampled.contains(node))
      now.reading = placement::sleep::PowerReading{sampled[node], energy_j[node], *metered_w};
    if (sampled.contains(node)) now.sampled_at = sampled[node];
    if (pods.contains(node)) now.pod = pods[node];
    now.pods_read = pods_read;
    now.held_by = held_by;
    now.emptied = emptied;
    now.idle_w = 95;
    return now;
  }
  void step(Duration by = std::chrono::seconds(1)) {
    clock.advance(by);
    cycles->turn(cluster_pods);
    for (const auto& [node, operation] : std::exchange(promised, {}))
      cycles->goodbye(node, {operation, reluctant.contains(node) ? "an update is running" : ""});
    for (const std::string& node : names) cycles->look(now(node));
    cycles->turn(cluster_pods);
  }
  // Steps until the node is in the state; false after `most` steps.
  bool until(State state, const std::string& node = "n1", int most = 2000) {
    for (int i = 0; i < most && record(node).state != state; ++i) step();
    return record(node).state == state;
  }
  const placement::sleep::NodePowerRecord& record(const std::string& node = "n1") const {
    return *cycles->records().find(node);
  }
  void choose(const std::string& node = "n1", std::vector<placement::sleep::Move> moves = {}) {
    placement::sleep::SleepChoice choice;
    choice.node = node;
    choice.depth = Depth::off;
    choice.moves = std::move(moves);
    choice.reason = "a test";
    cycles->choose(choice, observable);
  }
  bool is_marked(const std::string& node = "n1") const { return marks && marks->marked.contains(node); }
  std::uint64_t failures(const std::string& cause) const {
    const auto& all = cycles->records().totals().failures;
    const auto found = all.find(cause);
    return found == all.end() ? 0 : found->second;
  }

  std::map<std::string, MonoTime> sampled;
  std::map<std::string, double> energy_j;
};

}  // namespace wattle::controller::power
