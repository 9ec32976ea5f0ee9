#include "sim/env/evaluate.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "common/formatted.hpp"
#include "common/json/value.hpp"

namespace wattle::sim {

std::optional<std::size_t> bind_target(Env& env, const std::vector<std::int64_t>& scores, Random& random) {
  return select_node(env.world().kube_nodes(), kube_pod(env.waiting().spec.request), scores,
                     env.options().extender_weight, random);
}

double decisions_to_recover(const EpisodeTrace& trace, double reported_s, double until_s) {
  constexpr std::size_t kWindow = 10, kNeeded = 9;
  std::vector<bool> near;
  for (std::size_t i = 0; i < trace.at_s.size(); ++i)
    if (trace.at_s[i] >= reported_s && trace.at_s[i] < until_s) near.push_back(trace.near[i]);
  for (std::size_t k = 0; k + kWindow <= near.size(); ++k) {
    const auto first = near.begin() + static_cast<std::ptrdiff_t>(k);
    if (static_cast<std::size_t>(std::count(first, first + kWindow, true)) >= kNeeded) return static_cast<double>(k);
  }
  return static_cast<double>(near.size());
}

namespace {

bool is_near(World& world, const SimPod& pod, std::size_t node) {
  double nearest_ms = world.truth(0).latency_ms;
  for (std::size_t i = 1; i < world.size(); ++i) nearest_ms = std::min(nearest_ms, world.truth(i).latency_ms);
  return world.truth(node).latency_ms <= std::max(nearest_ms, pod.spec.latency_soft_ms.value_or(0));
}

void note(EpisodeTrace& trace, Env& env, std::size_t node, bool near) {
  const std::vector<KubeNode> nodes = env.world().kube_nodes();
  std::vector<std::uint16_t> pods;
  for (const KubeNode& each : nodes) pods.push_back(static_cast<std::uint16_t>(each.pods));
  ++pods[node];
  trace.at_s.push_back(env.world().now_s());
  trace.energy_j.push_back(env.world().figures().energy_j);
  trace.pods.push_back(std::move(pods));
  trace.near.push_back(near);
}

// Mean over the latency shifts. A shift becomes visible after a telemetry interval and its delay.
double mean_recovery(const EpisodeTrace& trace, const WorldOptions& world) {
  std::vector<double> at_s;
  for (const LatencyShift& shift : world.trouble.shifts)
    if (at_s.empty() || shift.at_s > at_s.back()) at_s.push_back(shift.at_s);
  double sum = 0;
  for (std::size_t i = 0; i < at_s.size(); ++i) {
    const double reported_s =
        (std::floor(at_s[i] / world.telemetry_period_s) + 1) * world.telemetry_period_s + world.telemetry_delay_s;
    sum += decisions_to_recover(trace, reported_s, i + 1 < at_s.size() ? at_s[i + 1] : INFINITY);
  }
  return at_s.empty() ? 0 : sum / static_cast<double>(at_s.size());
}

constexpr double kFirstHour_s = 3600;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

void read_truth(EpisodeFigures& figures, Env& env, const std::optional<WorldFigures>& first_hour) {
  const WorldFigures truth = env.world().figures();
  const double time_s = env.world().now_s();
  figures.mean_reward = ratio(figures.episode_return, figures.settled);
  figures.energy_j = truth.energy_j;
  figures.energy_per_pod_j = ratio(truth.energy_j, figures.placements);
  figures.energy_per_request_j = ratio(truth.energy_j, truth.requests);
  figures.active_node_s = truth.active_node_s;
  figures.late_ratio = ratio(truth.late_pod_s, truth.constrained_pod_s);
  figures.latency_p95_ms = truth.latency_ms.quantile(0.95);
  figures.response_ms = 1000 * ratio(truth.response_s, truth.requests);
  figures.response_p95_ms = truth.response_ms.quantile(0.95);
  figures.failed_ratio = ratio(truth.failed_requests, truth.requests + truth.failed_requests);
  figures.pressure_ratio = ratio(truth.pressure_pod_s, truth.pod_s);
  if (first_hour)
    figures.later_pressure_ratio =
        ratio(truth.pressure_pod_s - first_hour->pressure_pod_s, truth.pod_s - first_hour->pod_s);
  figures.energy_per_work_j = ratio(truth.energy_j, truth.work_core_s);
  figures.imbalance_pct = ratio(truth.imbalance_pct_s, time_s);
  figures.utilisation_pct = 100 * ratio(truth.utilisation_s, time_s);
  figures.crowded_ratio = ratio(truth.crowded_node_s, time_s * static_cast<double>(env.world().size()));
  figures.stranded_ratio = ratio(truth.stranded_pod_s, truth.pod_s);
  figures.lost_pods = static_cast<double>(truth.lost_pods);
  figures.awake_nodes = ratio(truth.awake_node_s, time_s);
  figures.turned_away = static_cast<double>(env.pending());
  figures.pending_s = ratio(env.pending_s(), figures.placements + figures.turned_away);
  figures.wakes = static_cast<double>(truth.wakes);
}

Result<Chooser> chooser_of(const Env& env, const Contestant& contestant, std::uint64_t seed, const std::string& known) {
  return Chooser::make(
      contestant,
      {env.options().reward, env.options().mask, {}, known, {}, env.options().extender_weight, env.options().limits},
      seed);
}

Result<std::string> learned_in_shadow(const EnvOptions& options, std::uint64_t seed) {
  EnvOptions same_cluster = options;
  same_cluster.waiting_times = 1;  // a deviation is not known in advance
  same_cluster.cluster_seed = options.cluster_seed.value_or(seed);
  Env env(same_cluster);
  const std::uint64_t other_pods = mix(seed, 0x736861646f77ULL);
  const Contestant watched{"kube-default", Binding::unadvised};
  WATTLE_TRY(Chooser chooser, chooser_of(env, watched, other_pods, {}));
  env.begin(other_pods, chooser.observer());
  while (!env.done()) {
    env.take_settled();
    env.expect(chooser.expected(env.waiting().spec));
    const placement::ClusterView view = env.view();
    const auto target = chooser.choose(env.world(), view, env.waiting());
    if (!target)
      env.turn_away();
    else
      WATTLE_CHECK(env.bind(*target, view));
  }
  return chooser.engine().engine().cluster_model().save(env.world().view({}));
}

struct Column {
  const char* name;
  double EpisodeFigures::*what;
  double scale;
  int decimals;
};

constexpr std::array<Column, 12> kColumns{{
    {"reward", &EpisodeFigures::mean_reward, 1, 4},
    {"return", &EpisodeFigures::episode_return, 1, 2},
    {"energy_kj", &EpisodeFigures::energy_j, 1e-3, 1},
    {"late_pct", &EpisodeFigures::late_ratio, 100, 2},
    {"pressure_pct", &EpisodeFigures::pressure_ratio, 100, 2},
    {"later_pct", &EpisodeFigures::later_pressure_ratio, 100, 2},
    {"wait_limit_pct", &EpisodeFigures::wait_limit, 100, 2},
    {"work_j", &EpisodeFigures::energy_per_work_j, 1, 3},
    {"awake_nodes", &EpisodeFigures::awake_nodes, 1, 2},
    {"wakes", &EpisodeFigures::wakes, 1, 1},
    {"turned_away", &EpisodeFigures::turned_away, 1, 1},
    {"pending_s", &EpisodeFigures::pending_s, 1, 1},
}};

std::vector<double> scaled(const ContestantFigures& figures, const Column& column) {
  std::vector<double> values = figures.column(column.what);
  for (double& value : values) value *= column.scale;
  return values;
}

}  // namespace

Result<std::vector<std::string>> learned_in_shadow(const EnvOptions& options, const std::vector<std::uint64_t>& seeds) {
  std::vector<std::string> known;
  for (const std::uint64_t seed : seeds) {
    WATTLE_TRY(std::string learned, learned_in_shadow(options, seed));
    known.push_back(std::move(learned));
  }
  return known;
}

namespace {

Result<EpisodeFigures> run_once(Env& env, const Contestant& contestant, std::uint64_t seed, EpisodeTrace* trace,
                                const std::string& known) {
  WATTLE_TRY(Chooser chooser, chooser_of(env, contestant, seed, known));
  EpisodeFigures figures;
  const auto collect = [&] {
    for (const Settled& settled : env.take_settled()) {
      figures.episode_return += placement::evaluate(env.options().reward, settled.outcome).value;
      figures.settled += 1;
    }
  };
  env.begin(seed, chooser.observer());
  double last_s = 0, last_j = 0, deviations = 0;
  std::optional<WorldFigures> first_hour;
  while (!env.done()) {
    collect();
    env.expect(chooser.expected(env.waiting().spec));
    const placement::ClusterView view = env.view();
    const std::vector<placement::PodSpec> next = env.next_pods();
    const auto target = chooser.choose(env.world(), view, env.waiting(), {next});
    last_s = env.world().now_s();
    last_j = env.world().figures().energy_j;
    if (!first_hour && last_s >= kFirstHour_s) first_hour = env.world().figures();
    if (!target) {
      env.turn_away();
      continue;
    }
    figures.placements += 1;
    if (chooser.deviates(env.waiting(), *target)) deviations += 1;
    if (trace) note(*trace, env, *target, is_near(env.world(), env.waiting(), *target));
    WATTLE_CHECK(env.bind(*target, view));
  }
  collect();
  read_truth(figures, env, first_hour);
  figures.wait_limit = chooser.engine().engine().cluster_model().pod_time().cpu_wait().limit();
  figures.deviates_ratio = ratio(deviations, figures.placements);
  figures.aftermath_w = ratio(figures.energy_j - last_j, env.world().now_s() - last_s);
  if (trace) {
    figures.recover_decisions = mean_recovery(*trace, env.world_options());
    const auto& changes = env.world_options().trouble.curve_changes;
    if (!changes.empty()) trace->curves_change_s = changes.front().at_s;
  }
  return figures;
}

// Prices in cores that a pod costs if it waits all the time.
constexpr std::array<double, 9> kPrices{0, 0.25, 0.5, 1, 2, 4, 8, 16, 64};

Result<EpisodeFigures> run_within_budget(Env& env, const Contestant& contestant, std::uint64_t seed,
                                         EpisodeTrace* trace, const std::string& known) {
  placement::ClusterModel model;
  if (!known.empty()) WATTLE_CHECK(model.restore(known));
  const double limit = model.pod_time().cpu_wait().limit();
  std::optional<EpisodeFigures> best;
  const auto better = [&](const EpisodeFigures& a, const EpisodeFigures& b) {
    const bool a_keeps = a.pressure_ratio <= limit, b_keeps = b.pressure_ratio <= limit;
    if (a_keeps != b_keeps) return a_keeps;
    return a_keeps ? a.energy_j < b.energy_j : a.pressure_ratio < b.pressure_ratio;
  };
  for (const double price : kPrices) {
    Contestant priced = contestant;
    env.begin(seed);
    const ServerModel& server = env.world().truth(0).server;
    priced.wait_price_w = price * server.max_w() / server.cores;
    EpisodeTrace traced;
    WATTLE_TRY(const EpisodeFigures figures, run_once(env, priced, seed, trace ? &traced : nullptr, known));
    if (best && !better(figures, *best)) continue;
    best = figures;
    if (trace) *trace = std::move(traced);
  }
  return *best;
}

}  // namespace

Result<EpisodeFigures> run_episode(Env& env, const Contestant& contestant, std::uint64_t seed, EpisodeTrace* trace,
                                   const std::string& known) {
  return contestant.within_budget ? run_within_budget(env, contestant, seed, trace, known)
                                  : run_once(env, contestant, seed, trace, known);
}

std::vector<double> ContestantFigures::column(double EpisodeFigures::*what) const {
  std::vector<double> values;
  for (const EpisodeFigures& episode : episodes) values.push_back(episode.*what);
  return values;
}

const ContestantFigures& Evaluation::of(const std::string& name) const {
  const auto found =
      std::find_if(contestants.begin(), contestants.end(), [&](const auto& each) { return each.name == name; });
  assert(found != contestants.end());
  return *found;
}

Result<Evaluation> evaluate(const EnvOptions& options, const std::vector<Contestant>& contestants,
                            const std::vector<std::uint64_t>& seeds, bool warm) {
  Evaluation evaluation;
  evaluation.scenario = options.scenario.name;
  evaluation.seeds = seeds;
  std::vector<std::string> known(seeds.size());
  if (warm) {
    WATTLE_TRY(known, learned_in_shadow(options, seeds));
  }
  Env env(options);
  for (const Contestant& contestant : contestants) {
    ContestantFigures figures;
    figures.name = contestant.name;
    for (std::size_t k = 0; k < seeds.size(); ++k) {
      WATTLE_TRY(auto episode, run_episode(env, contestant, seeds[k], nullptr, known[k]));
      figures.episodes.push_back(episode);
    }
    evaluation.contestants.push_back(std::move(figures));
  }
  return evaluation;
}

std::vector<std::uint64_t> seeds_from(std::uint64_t first, std::size_t n) {
  std::vector<std::uint64_t> seeds;
  for (std::size_t i = 0; i < n; ++i) seeds.push_back(first + i);
  return seeds;
}

std::string to_table(const Evaluation& evaluation) {
  std::string out = "scenario " + evaluation.scenario + ", " + std::to_string(evaluation.seeds.size()) +
                    " held-out paired seeds, means\n" + padded("", 16);
  for (const Column& column : kColumns) out += padded(column.name, 14);
  out += "\n";
  for (const ContestantFigures& each : evaluation.contestants) {
    out += each.name + std::string(each.name.size() < 16 ? 16 - each.name.size() : 1, ' ');
    for (const Column& column : kColumns) out += padded(fixed(mean(scaled(each, column)), column.decimals), 14);
    out += "\n";
  }
  const ContestantFigures& first = evaluation.contestants.front();
  out += "\n" + first.name + " less each of the others, paired, mean [95% interval]\n";
  for (std::size_t i = 1; i < evaluation.contestants.size(); ++i) {
    const ContestantFigures& other = evaluation.contestants[i];
    out += "  against " + other.name + "\n";
    for (std::size_t c = 0; c < 5; ++c) {
      const Column& column = kColumns[c];
      const Interval gap = paired_difference(scaled(first, column), scaled(other, column));
      out += padded(column.name, 16) + padded(fixed(gap.mean, column.decimals), 12) + " " +
             range_text(gap, {.decimals = column.decimals}) + "\n";
    }
    const Interval energy =
        paired_ratio(first.column(&EpisodeFigures::energy_j), other.column(&EpisodeFigures::energy_j));
    out += padded("energy_pct", 16) + padded(fixed(100 * energy.mean, 2), 12) + " " +
           range_text(energy, {.scale = 100}) + "\n";
  }
  return out + seeds_note(evaluation.seeds.size(), "--seeds");
}

std::string to_json(const Evaluation& evaluation) {
  SortedJson out;
  out["scenario"] = evaluation.scenario;
  out["seeds"] = evaluation.seeds;
  for (const ContestantFigures& each : evaluation.contestants) {
    SortedJson columns;
    for (const Column& column : kColumns) columns[column.name] = scaled(each, column);
    out["contestants"].push_back({{"name", each.name}, {"per_seed", columns}});
  }
  const ContestantFigures& first = evaluation.contestants.front();
  for (std::size_t i = 1; i < evaluation.contestants.size(); ++i) {
    const ContestantFigures& other = evaluation.contestants[i];
    SortedJson gaps;
    for (const Column& column : kColumns) {
      const Interval gap = paired_difference(scaled(first, column), scaled(other, column));
      gaps[column.name] = {{"mean", gap.mean}, {"low", gap.low}, {"high", gap.high}};
    }
    out["differences"].push_back({{"of", first.name}, {"against", other.name}, {"interval", 0.95}, {"paired", gaps}});
  }
  return out.dump(2) + "\n";
}

}  // namespace wattle::sim
