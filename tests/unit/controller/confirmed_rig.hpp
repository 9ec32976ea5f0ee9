// confirmed_rig: a controller's state, decisions, confirmed workloads and store over nodes whose units a test starts
// and stops. The controller may be restarted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/decisions/confirmed_workloads.hpp"
#include "controller/decisions/decision_keeper.hpp"
#include "controller/decisions/owner_keeper.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/decider_rig.hpp"
#include "tests/unit/controller/store_rig.hpp"

namespace wattle::controller::test {

using namespace std::chrono_literals;

class ConfirmedRig : public DecisionSink {
 public:
  static constexpr std::uint64_t kUnit_uj = 2'000'000;  // energy of one unit in one second

  explicit ConfirmedRig(std::vector<std::string> nodes = {"n1", "n2"}, std::uint64_t usage_bytes = 64 << 20) {
    for (const std::string& node : nodes) units_[node];
    options_.file.path = dir_.file("store.db");
    options_.file.usage.max_bytes = usage_bytes;
    options_.decisions_found = 100;
    begin();
  }

  // The machines continue while the controller is down; their reports arrive after the restart.
  void restart() {
    flush();
    life_.reset();
    begin();
  }
  // Restarts with another configuration.
  void restart_in(ModeSetting mode) {
    mode_ = mode;
    restart();
  }

  void start(const std::string& node, const std::string& unit) { units_[node].insert(unit); }
  void stop(const std::string& node, const std::string& unit) {
    if (units_[node].erase(unit) > 0) ended_[node].insert(unit);
  }
  // The agent restarts at the same time, so no record reports the units that ended.
  void forget_ends() { ended_.clear(); }
  bool runs(const std::string& node, const std::string& unit) { return units_[node].contains(unit); }
  // Starts a pod as a kubelet does.
  void start_pod(const std::string& node, const std::string& uid) { pods_[node].insert(uid); }

  // One second of every node.
  void tick() {
    clock.advance(1s);
    ++seq_;
    for (const auto& [node, units] : units_) report(node);
    life_->decider->expire();
    life_->confirmed->tick();
    finish(life_->keeper.take(life_->decider->log(), life_->decider->log().take_changed(), clock.mono()));
  }
  void ticks(int count) {
    for (int i = 0; i < count; ++i) tick();
  }

  wire::Suggestion place(const std::string& uid, const std::string& name, double cores = 0.5) {
    wire::Ask ask = ask_for(uid, {});
    for (const auto& [node, units] : units_) ask.candidates.push_back(node);
    ask.pod_name = name;
    ask.app = name;
    ask.owner = "default/ReplicaSet/" + name;
    ask.cpu_request_cores = cores;
    ask.memory_request_bytes = cores * kBytesPerCore;
    return life_->decider->asks().ask(std::move(ask));
  }
  Confirmation confirm(const std::string& pod, const std::string& node, const std::string& unit = {},
                       std::optional<Duration> limit = {}) {
    auto reported = life_->confirmed->confirm(pod, node, unit, limit);
    if (!reported) FAIL(reported.error().message());
    return *reported;
  }
  Ending done(const std::string& pod, bool failed = false) {
    auto reported = life_->confirmed->done(pod, failed);
    if (!reported) FAIL(reported.error().message());
    return *reported;
  }

  ConfirmedWorkloads& confirmed() { return *life_->confirmed; }
  Decider& decider() { return *life_->decider; }
  ClusterState& state() { return life_->state; }
  const Pod* pod(const std::string& uid) { return life_->state.pod(uid); }
  double requested(const std::string& node) { return life_->state.node_view(node)->requested.cpu_cores; }
  double requested_bytes(const std::string& node) { return life_->state.node_view(node)->requested.memory_bytes; }
  const LoggedDecision* decision(const std::string& pod) { return life_->decider->log().newest(pod); }
  // Energy of the owner's workloads in the store's report.
  std::int64_t energy_uj(const std::string& owner) {
    flush();
    std::int64_t sum = 0;
    auto read = life_->store->read([&](StoreFile& file) -> Result<std::string> {
      UsageQuery query;
      query.since_s = 0;
      query.by = ReportBy::owner;
      WATTLE_TRY(const UsageReport report, file.report(query));
      if (const auto row = report.rows.find(owner); row != report.rows.end()) sum = row->second.used.energy_uj;
      return std::string();
    });
    if (const auto text = read.get(); !text) FAIL(text.error().message());
    return sum;
  }

  static constexpr double kBytesPerCore = double{1 << 30};
  bool write_each_placement = false;  // the store writes each placement's row before the next one is added
  ManualClock clock{mono_from_ns(100 * kSecondNs), wall_from_ns(1'700'000'000 * kSecondNs)};

 private:
  struct Life {
    ControllerConfig config;
    ClusterState state{30s};
    ServingModel networks;
    std::unique_ptr<Store> store;
    std::optional<Decider> decider;
    DecisionKeeper keeper;
    OwnerKeeper owners;
    std::optional<ConfirmedWorkloads> confirmed;

    Life(std::unique_ptr<Store> from, const Clock& clock, const Log& log)
        : store(std::move(from)), keeper(*store, log), owners(*store, clock) {}
  };

  void begin() {
    auto started = Store::start(options_, clock, log_);
    if (!started) FAIL(started.error().message());
    life_ = std::make_unique<Life>(std::move(*started), clock, log_);
    Life& life = *life_;
    life.config.mode = mode_;
    life.config.settle_window = 3s;
    life.config.decide.epsilon = 0;
    life.decider.emplace(
        life.config, life.state, life.networks, *this, clock, [](const LearningNews&) {},
        1 + life.store->last_decision_id());
    life.confirmed.emplace(life.state, *life.decider, *life.store, clock, log_);
    life.keeper.recall(*life.decider);
    for (const PodFacts& pod : life.store->running_found()) {
      life.decider->recall(pod);
      life.confirmed->recall(pod);
    }
    for (const auto& [node, units] : units_) {
      life.state.greet(hello_of(node));
      life.decider->placements().greeted(hello_of(node));
      life.confirmed->greeted(node);
    }
  }

  void on_placed(const placement::PodSpec& pod, const std::string& node) override {
    life_->owners.placed(pod, node);
    if (write_each_placement) wait_for_writer();
  }
  void on_left(const placement::PodSpec& pod) override {
    life_->owners.left(pod);
    life_->confirmed->left(pod);
  }

  void report(const std::string& node) {
    Record record = record_of(node, seq_);
    for (const std::string& unit : units_[node]) record.workloads.push_back(values_of(unit));
    for (const std::string& uid : pods_[node]) record.workloads.push_back(pod_values(uid, 100'000));
    for (const std::string& unit : std::exchange(ended_[node], {})) {
      if (units_[node].contains(unit)) continue;
      record.workloads.push_back(values_of(unit));
      record.workloads.back().ended = true;
    }
    life_->confirmed->name(node, record);
    const RecordNews news = life_->state.apply(node, record, clock.mono());
    for (const std::string& uid : news.appeared) life_->decider->placements().placed(uid, node, false);
    life_->decider->outcomes().record(node, record, news);
    for (const std::string& uid : news.gone) life_->decider->placements().gone(uid, node);
    StoreItem kept;
    kept.node = node;
    kept.mark = {record.incarnation, record.seq};
    kept.bytes = wire::encode_record(record);
    kept.record = std::move(record);
    life_->store->add(std::move(kept));
  }

  static WorkloadValues values_of(const std::string& unit) {
    WorkloadValues values = pod_values(unit, 100'000);
    values.kind = WorkloadKind::service;
    values.energy_uj = kUnit_uj;
    return values;
  }

  // Waits until all pending rows are on disk.
  void flush() {
    finish(life_->keeper.flush(life_->decider->log(), clock.mono()));
    wait_for_writer();
  }

  void wait_for_writer() {
    (void)life_->store->read([](StoreFile&) -> Result<std::string> { return std::string(); }).get();
  }

  wattle::test::TempDir dir_;
  const Log log_ = Log::silent();
  StoreOptions options_;
  ModeSetting mode_ = Mode::live;
  std::map<std::string, std::set<std::string>> units_, ended_, pods_;  // by node
  std::uint64_t seq_ = 0;
  std::unique_ptr<Life> life_;
};

}  // namespace wattle::controller::test
