#include "lab/bench/sleep_run.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace wattle::sim::consolidation {

namespace power = placement::sleep;

namespace {

using Kind = power::PowerEvent::Kind;
using power::PowerState;

constexpr double kPlan_s = 60;
constexpr std::size_t kLookBack = 40;  // minutes, of dpm

enum class By { nothing, idle_time, dpm, plan };

struct Rule {
  By by = By::nothing;
  double idle_s = 0;
  bool drains = false, spare = false, sleeps_through = false, repacks = false;
  BindBy bind_by = BindBy::node_order;
};

Result<Rule> rule_of(const std::string& name) {
  if (name == "always-on") return Rule{};
  if (name == "kube-default") return Rule{.bind_by = BindBy::kube_default};
  if (name == "clairvoyant") return Rule{.sleeps_through = true};
  if (name == "clairvoyant-moves") return Rule{.sleeps_through = true, .repacks = true};
  if (name == "dpm") return Rule{By::dpm};
  if (name == "wattle") return Rule{By::plan, 0, true, true};
  if (name == "wattle-no-drains") return Rule{By::plan, 0, false, true};
  if (name == "wattle-no-spare") return Rule{By::plan};
  for (const int minutes : {5, 10, 30, 60})
    if (name == "slurm-" + std::to_string(minutes)) return Rule{By::idle_time, 60.0 * minutes};
  std::string known;
  for (const char* each : kSleepRules) known += std::string(known.empty() ? "" : ", ") + each;
  return fail(Errc::not_found, "rule " + name, "does not exist", "use one of " + known);
}

class SleepRun {
 public:
  SleepRun(const SleepEpisode& episode, const Rule& rule, power::Depth depth)
      : rule_(rule),
        end_s_(episode.end_s),
        cluster_(episode, depth, rule.sleeps_through, rule.bind_by),
        used_(cluster_.size()) {
    config_.drains = rule.drains;
    if (rule.spare) return;
    config_.rules.spare_nodes = 0;
    config_.rules.spare_ratio = 0;
    config_.rules.survive_node_loss = false;
  }

  SleepFigures run() {
    while (cluster_.now_s() < end_s_) {
      const std::size_t waited = cluster_.waiting().size();
      cluster_.advance_to(cluster_.next_s(next_plan_s_));
      if (cluster_.waiting().size() > waited) plan();
      if (cluster_.now_s() < next_plan_s_) continue;
      next_plan_s_ += kPlan_s;
      every_minute();
    }
    SleepFigures figures = cluster_.finish();
    figures.awake_nodes /= std::max(1.0, minutes_);
    return figures;
  }

 private:
  void choose(std::size_t row, bool drain) {
    ledger_.slept(cluster_.wall());
    cluster_.report(
        row,
        {drain ? Kind::chosen_drain : Kind::chosen, 0, power::Observed::unknown, cluster_.row(row).facts.depth, {}});
  }
  void every_minute();
  void reserve();  // the targets of the drain
  void follow_drain();
  void plan();
  void sleep_by_idle_time();
  void sleep_by_dpm();

  Rule rule_;
  double end_s_;
  SleepCluster cluster_;
  std::vector<std::array<double, kLookBack>> used_;  // requested share, by row and minute
  power::SleepConfig config_;
  power::DemandOutlook outlook_, nothing_;
  power::SleepLedger ledger_;
  std::optional<power::Drain> drain_;
  double next_plan_s_ = 0, minutes_ = 0;
};

// The plan of placement/sleep; of other rules only the wakes for waiting pods are carried out.
void SleepRun::plan() {
  if (rule_.by == By::nothing) return;
  power::SleepInputs in = cluster_.inputs();
  in.outlook = rule_.by == By::plan ? &outlook_ : &nothing_;
  in.ledger = &ledger_;
  power::SleepPlan plan = power::plan_sleep(in, config_);
  for (const power::WakeChoice& wake : plan.wakes) {
    if (rule_.by != By::plan && wake.cause != power::WakeFor::pending_pod) continue;
    ledger_.woke(cluster_.wall());
    cluster_.report(wake.row, {Kind::wake_wanted});
  }
  if (!plan.wakes.empty()) cluster_.bind_waiting();
  if (rule_.by != By::plan) return;
  for (power::SleepChoice& sleep : plan.sleeps) {
    const bool drains = !sleep.moves.empty();
    if (drains) {
      drain_.emplace(sleep.node, std::move(sleep.moves));
      if (cluster_.measured()) cluster_.figures().drains += 1;
    }
    choose(sleep.row, drains);
  }
  reserve();
}

void SleepRun::reserve() {
  for (std::size_t row = 0; row < cluster_.size(); ++row) {
    cluster_.node(row).reserved = {};
    cluster_.node(row).reserved_pods = 0;
  }
  if (!drain_) return;
  for (const power::Move& move : drain_->reserved()) {
    SleepCluster::Node& target = cluster_.node(cluster_.row_of(move.target));
    target.reserved.cpu_cores += move.request.cpu_cores;
    target.reserved.memory_bytes += move.request.memory_bytes;
    ++target.reserved_pods;
  }
}

void SleepRun::follow_drain() {
  reserve();
  if (!drain_) return;
  const std::size_t from = cluster_.row_of(drain_->node());
  const power::NodePowerRecord& record = cluster_.row(from).record;
  if (record.state != PowerState::draining) {
    drain_.reset();
    return reserve();
  }
  if (drain_->stopped(cluster_.wall(), config_.moves)) {
    cluster_.report(from, {Kind::drain_stopped, record.operation});
    drain_.reset();
    return reserve();
  }
  for (const power::Move& move : drain_->reserved()) {
    if (cluster_.running(std::stoul(move.pod)).node != from) drain_->ended(move.pod);
  }
  reserve();
  for (const power::Move& move : drain_->next(cluster_.pods(), cluster_.wall(), config_.moves, ledger_)) {
    const std::size_t pod = std::stoul(move.pod);
    cluster_.move(pod, cluster_.row_of(move.target));
    const std::string& there = cluster_.row(cluster_.running(pod).node).name;
    drain_->landed(move.owner, there);
    if (!cluster_.measured()) continue;
    cluster_.figures().moves += 1;
    cluster_.figures().energy_j += config_.move_j;
    if (there != move.target) cluster_.figures().misplaced += 1;
  }
}

void SleepRun::sleep_by_idle_time() {
  for (const std::size_t row : cluster_.order())
    if (cluster_.awake(row) && cluster_.empty(row) &&
        cluster_.now_s() - cluster_.node(row).empty_from_s >= rule_.idle_s)
      choose(row, false);
}

void SleepRun::sleep_by_dpm() {
  constexpr double kLow = 0.45, kHigh = 0.81;
  double capacity_cores = 0;
  for (std::size_t row = 0; row < cluster_.size(); ++row)
    if (cluster_.awake(row) || cluster_.row(row).record.state == PowerState::waking)
      capacity_cores += cluster_.cores(row);
  if (outlook_.mean(cluster_.wall(), std::chrono::minutes(5)) > kHigh * capacity_cores) {
    for (const std::size_t row : cluster_.order())
      if (cluster_.row(row).record.state == PowerState::asleep) return cluster_.report(row, {Kind::wake_wanted});
    return;
  }
  const double recent_cores = outlook_.mean(cluster_.wall(), std::chrono::minutes(kLookBack));
  for (auto row = cluster_.order().rbegin(); row != cluster_.order().rend(); ++row) {
    const double used = std::accumulate(used_[*row].begin(), used_[*row].end(), 0.0) / kLookBack;
    if (cluster_.awake(*row) && cluster_.empty(*row) && used < kLow &&
        recent_cores <= kHigh * (capacity_cores - cluster_.cores(*row)))
      return choose(*row, false);
  }
}

void SleepRun::every_minute() {
  outlook_.observe(cluster_.requested_cores(), cluster_.wall());
  const auto minute = static_cast<std::size_t>(cluster_.now_s() / kPlan_s) % kLookBack;
  if (cluster_.measured()) minutes_ += 1;
  for (std::size_t row = 0; row < cluster_.size(); ++row) {
    used_[row][minute] = cluster_.node(row).requested.cpu_cores / cluster_.cores(row);
    if (cluster_.node(row).on && cluster_.measured()) cluster_.figures().awake_nodes += 1;
    cluster_.report(row, {Kind::deadline});
  }
  follow_drain();
  if (rule_.repacks) cluster_.repack();
  if (rule_.by == By::idle_time) sleep_by_idle_time();
  if (rule_.by == By::dpm) sleep_by_dpm();
  plan();
  ledger_.forget_before(cluster_.wall() - std::chrono::hours(25));
}

}  // namespace

Result<SleepFigures> run_sleep(const SleepEpisode& episode, const std::string& name, power::Depth depth) {
  WATTLE_TRY(const Rule rule, rule_of(name));
  return SleepRun(episode, rule, depth).run();
}

}  // namespace wattle::sim::consolidation
