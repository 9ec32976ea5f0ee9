#include "lab/bench/sleep_bench.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/formatted.hpp"
#include "sim/env/statistics.hpp"

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

namespace {

struct Sums {
  double awake_nodes = 0, node_days = 0, pods = 0, sleeps = 0, losing = 0, bursts = 0, bursts_awake = 0;
  double moves = 0, drains = 0, misplaced = 0, waiting_ratio = 0;
  std::vector<double> waits_s;
};

Sums sum(const std::vector<SleepFigures>& runs) {
  Sums all;
  for (const SleepFigures& run : runs) {
    all.awake_nodes += run.awake_nodes / static_cast<double>(runs.size());
    all.waiting_ratio += run.waiting_ratio / static_cast<double>(runs.size());
    all.node_days += run.node_days;
    all.pods += run.pods;
    all.sleeps += run.sleeps;
    all.losing += run.losing;
    all.bursts += run.bursts;
    all.bursts_awake += run.bursts_awake;
    all.moves += run.moves;
    all.drains += run.drains;
    all.misplaced += run.misplaced;
    all.waits_s.insert(all.waits_s.end(), run.waits_s.begin(), run.waits_s.end());
  }
  std::sort(all.waits_s.begin(), all.waits_s.end());
  return all;
}

double share(double part, double all) { return all > 0 ? 100 * part / all : 0; }

double at_share(const std::vector<double>& ascending, double part) {
  if (ascending.empty()) return 0;
  return ascending[std::min(ascending.size() - 1,
                            static_cast<std::size_t>(part * static_cast<double>(ascending.size())))];
}

constexpr std::array<std::string_view, 5> kBases{"kube-default", "always-on", "dpm", "clairvoyant",
                                                 "clairvoyant-moves"};

// A rule, and its runs by seed.
struct Played {
  std::string rule;
  std::vector<SleepFigures> runs;
};

// A rule that others are compared with, and its joules by seed.
struct Base {
  std::string name;
  std::vector<double> joules;
};

std::vector<double> joules(const Played& played) {
  std::vector<double> by_seed;
  for (const SleepFigures& run : played.runs) by_seed.push_back(run.energy_j);
  return by_seed;
}

// In hindsight: on each fleet the idle time with the least joules. No value without a rule slurm-N.
std::optional<Base> best_slurm(const std::vector<Played>& all) {
  Base best{"the best slurm", {}};
  for (const Played& played : all) {
    if (played.rule.rfind("slurm-", 0) != 0) continue;
    std::vector<double> by_seed = joules(played);
    for (std::size_t k = 0; k < best.joules.size(); ++k) by_seed[k] = std::min(by_seed[k], best.joules[k]);
    best.joules = std::move(by_seed);
  }
  return best.joules.empty() ? std::nullopt : std::optional(std::move(best));
}

std::vector<Base> bases_of(const std::vector<Played>& all) {
  std::vector<Base> bases;
  for (const std::string_view base : kBases)
    for (const Played& played : all)
      if (played.rule == base) bases.push_back({played.rule, joules(played)});
  if (std::optional<Base> best = best_slurm(all)) bases.push_back(std::move(*best));
  return bases;
}

std::string head_of(const std::vector<Base>& bases) {
  std::string names = "| rule |", rule = "|---|";
  for (const Base& base : bases) {
    names += " energy over " + base.name + ", % |";
    rule += "---|";
  }
  return names +
         " nodes on | pods that waited, % | p99 of their wait, s | sleeps per node and day | that lost energy, % | "
         "bursts met awake, % | moves, % of pods | misplaced, % | waiting for CPU, % |\n" +
         rule + "---|---|---|---|---|---|---|---|---|\n";
}

std::string row_of(const Played& played, const std::vector<Base>& bases) {
  const Sums all = sum(played.runs);
  std::string row = "| " + played.rule + " |";
  for (const Base& base : bases)
    row += " " + interval_text(paired_ratio(joules(played), base.joules), {1, 100, true}) + " |";
  return row + formatted(" %.1f | %.2f | %.0f | %.2f | %.1f | %.0f | %.2f | %.0f | %.2f |\n", all.awake_nodes,
                         share(static_cast<double>(all.waits_s.size()), all.pods), at_share(all.waits_s, 0.99),
                         all.node_days > 0 ? all.sleeps / all.node_days : 0, share(all.losing, all.sleeps),
                         share(all.bursts_awake, all.bursts), share(all.moves, all.pods),
                         share(all.misplaced, all.moves), 100 * all.waiting_ratio);
}

}  // namespace

Result<std::string> sleep_bench(const Dataset& data, const SleepBenchOptions& options) {
  std::string text;
  for (const std::size_t nodes : options.nodes) {
    SleepEpisodeOptions drawn = options.episode;
    drawn.nodes = nodes;
    std::vector<Played> all;
    for (const std::string& rule : options.rules) all.push_back({rule, {}});
    for (std::size_t k = 0; k < options.seeds; ++k) {
      const SleepEpisode episode = make_sleep_episode(data, drawn, options.first_seed + k);
      for (Played& played : all) {
        WATTLE_TRY(SleepFigures figures, run_sleep(episode, played.rule, options.depth));
        played.runs.push_back(std::move(figures));
      }
    }
    text += formatted("%zu nodes, %zu seeds from %llu, depth %s\n\n", nodes, options.seeds,
                      static_cast<unsigned long long>(options.first_seed),
                      std::string(placement::sleep::to_string(options.depth)).c_str());
    const std::vector<Base> bases = bases_of(all);
    text += head_of(bases);
    for (const Played& played : all) text += row_of(played, bases);
    text += "\n";
  }
  return text + seeds_note(options.seeds, "--seeds");
}

}  // namespace wattle::sim::consolidation
