// sleep_cost: CPU that a controller uses to plan and run nodes that sleep, for a cluster in memory.
// Usage    sleep_cost [NODES] [MINUTES]    default: 1000 nodes, 5 minutes from when the nodes without pods are asleep
// Does     half of the nodes have 20 pods and report each second; the others sleep by themselves, and their drivers
//          observe them once a minute. A store is written, and the loop ticks ten times a second
// Gives    nodes asleep, plans a minute, and CPU of the part in % of a core. Telemetry is not counted, and calls of
//          drivers and API server end at once: they cost what the program or the network costs
// Exit     0 measured, 1 failed
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "controller/config.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/store/store.hpp"

namespace {

using namespace wattle;
using namespace wattle::controller;
namespace core = placement::sleep;

constexpr int kPodsPerNode = 20;
constexpr Duration kTick = std::chrono::milliseconds(100);
constexpr std::uint64_t kTicksPerSecond = 10;

// Machines that do at once what they are ordered to.
class Machines final : public power::NodePower {
 public:
  bool on(const std::string& node) {
    const std::lock_guard lock(mutex_);
    return !off_[node];
  }
  Result<power::Capabilities> probe(const power::Node&, std::chrono::milliseconds) override {
    return power::Capabilities{
        .depths = {power::Depth::off}, .can_wake = true, .can_observe = true, .wake_s = 152.0, .asleep_w = 9.75};
  }
  Status sleep(const power::Node& node, power::Depth, const power::Operation&) override { return turn(node, true); }
  Status wake(const power::Node& node, const power::Operation&) override { return turn(node, false); }
  Result<power::Observation> observe(const power::Node& node, std::chrono::milliseconds) override {
    return power::Observation{on(node.name) ? power::PowerState::on : power::PowerState::off, std::nullopt};
  }

 private:
  Status turn(const power::Node& node, bool off) {
    const std::lock_guard lock(mutex_);
    off_[node.name] = off;
    return {};
  }
  std::mutex mutex_;
  std::map<std::string, bool> off_;
};

double used_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto s = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return s(usage.ru_utime) + s(usage.ru_stime);
}

wire::Hello hello_of(const std::string& node) {
  wire::Hello hello;
  hello.node = node;
  hello.incarnation = 1;
  hello.cpu_cores = 32;
  hello.memory_bytes = std::uint64_t{128} << 30;
  hello.version_max = wire::kSleepSince;
  hello.labels = {{"wattle.dev/sleep", "auto"}};
  return hello;
}

Record record_of(std::uint64_t second, int pods) {
  Record record;
  record.incarnation = 1;
  record.seq = second;
  record.mono_ns = static_cast<std::int64_t>(second) * 1'000'000'000;
  record.interval_ns = 1'000'000'000;
  record.node.cpu_cores = 32;
  record.node.cpu_used_cores = 0.2 * pods;
  record.node.memory_total_bytes = std::uint64_t{128} << 30;
  record.node.energy_source = EnergySource::rapl;
  record.node.energy_uj = static_cast<std::uint64_t>(1e6 * (95 + 3 * pods));
  return record;
}

class Bench {
 public:
  Bench(std::size_t nodes, const std::filesystem::path& folder) : log_(Log::silent()) {
    config_.sleep.mode = core::SleepMode::automatic;
    config_.sleep.plan.rules.proven_round_trips = 0;
    config_.sleep.plan.rules.stay_awake = Duration::zero();
    config_.sleep.plan.rules.sleeps_per_hour = nodes;
    power::NodeDrivers all;
    all.sleep = all.wake = all.observe = power::DriverKind::exec;
    config_.sleep.drivers = std::make_shared<const power::PowerConfig>(power::PowerConfig{{all}});
    StoreOptions options;
    options.file.path = (folder / "store.db").string();
    store_ = Store::start(options, clock_, log_).value();
    for (std::size_t i = 0; i < nodes; ++i) names_.push_back("node-" + std::to_string(i));
    begin();
  }

  void minutes(int count) {
    for (std::uint64_t tick = 0; tick < static_cast<std::uint64_t>(count) * 60 * kTicksPerSecond; ++tick) {
      clock_.advance(kTick);
      if (++ticks_ % kTicksPerSecond == 0) report();
      turn();
    }
  }
  void forget() {
    used_s_ = 0;
    plans_ = control_->plans();
  }
  std::size_t asleep() const {
    return static_cast<std::size_t>(
        std::count_if(control_->records().begin(), control_->records().end(),
                      [](const auto& item) { return item.second.state == core::PowerState::asleep; }));
  }
  std::size_t plans() const { return control_->plans() - plans_; }
  double used() const { return used_s_; }

 private:
  void begin() {
    for (const std::string& name : names_) state_.greet(hello_of(name));
    control_ = std::make_unique<power::SleepControl>(power::SleepControl::Around{
        config_.sleep, *store_, rollout_, clock_, log_, "elsewhere", std::nullopt, 5, machines_});
    for (const std::string& name : names_) control_->greeted(hello_of(name));
    control_->on_send([this](const std::string& node, const wire::SleepOrder& order) -> Status {
      if (order.depth != power::kShallow && !order.granted) promised_[node] = order.operation;
      return {};
    });
    report();
    for (std::size_t i = 0; i < names_.size() / 2; ++i)
      for (int pod = 0; pod < kPodsPerNode; ++pod) {
        placement::PodSpec spec;
        spec.uid = names_[i] + "-" + std::to_string(pod);
        spec.name = spec.uid;
        spec.pod_namespace = "default";
        spec.owner = "ReplicaSet/app-" + std::to_string(pod);
        spec.request = {1, 1024.0 * 1024 * 1024};
        state_.ask(spec, 0, true, clock_.mono());
        state_.bind(spec.uid, names_[i], false, clock_.mono());
      }
  }
  void report() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Node* node = state_.node(names_[i]);
      if (!machines_->on(names_[i])) {
        if (node != nullptr && node->connected) state_.disconnect(names_[i]);
        continue;
      }
      if (node == nullptr || !node->connected) {
        state_.greet(hello_of(names_[i]));
        control_->greeted(hello_of(names_[i]));
      }
      state_.apply(names_[i], record_of(1000 + ticks_ / kTicksPerSecond, i < names_.size() / 2 ? kPodsPerNode : 0),
                   clock_.mono());
    }
  }
  // Time stands still while calls and writes are under way.
  void turn() {
    const double before_s = used_s();
    do {
      for (Steps work = control_->tick(state_); work && work();) continue;
      if (control_->busy()) usleep(100);
    } while (control_->busy());
    used_s_ += used_s() - before_s;
    for (const auto& [node, operation] : std::exchange(promised_, {})) control_->goodbye(node, {operation, ""});
  }

  ControllerConfig config_;
  ManualClock clock_{mono_from_ns(1000 * std::int64_t{1'000'000'000}), wall_from_ns(1'800'000'000'000'000'000)};
  Log log_;
  ClusterState state_{std::chrono::seconds(30)};
  std::unique_ptr<Store> store_;
  RolloutManager rollout_ = RolloutManager::open_(configured_spec(config_), "", {}, clock_, log_).value();
  std::shared_ptr<Machines> machines_ = std::make_shared<Machines>();
  std::unique_ptr<power::SleepControl> control_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint64_t> promised_;
  std::uint64_t ticks_ = 0;
  std::size_t plans_ = 0;
  double used_s_ = 0;
};

}  // namespace

int main(int count, char** words) {
  const std::size_t nodes = count > 1 ? std::strtoul(words[1], nullptr, 10) : 1000;
  const int minutes = count > 2 ? std::atoi(words[2]) : 5;
  constexpr int kMostMinutes = 120;
  const auto folder = std::filesystem::temp_directory_path() / ("sleep_cost-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::size_t asleep = 0;
  {
    Bench bench(nodes, folder);
    for (int minute = 0; minute < kMostMinutes && bench.asleep() < nodes / 4; ++minute) bench.minutes(1);
    bench.forget();
    bench.minutes(minutes);
    asleep = bench.asleep();
    std::printf("%zu nodes, %zu asleep, %.1f plans a minute, %.3f%% of a core\n", nodes, asleep,
                static_cast<double>(bench.plans()) / minutes, 100 * bench.used() / (60.0 * minutes));
  }
  std::filesystem::remove_all(folder);
  return asleep == 0 ? 1 : 0;
}
