#include "lab/ablations/worlds.hpp"

#include <algorithm>
#include <utility>

#include "common/formatted.hpp"
#include "common/json/value.hpp"
#include "sim/policies/contestant.hpp"

namespace wattle::sim::consolidation {

namespace {

constexpr std::size_t kHours = 24;
constexpr double kDay_s = 86'400;
constexpr double kAsLittle = 1.1;  // times the least waiting: as good, where no policy holds the limit

bool learns(std::string_view policy) { return policy == "dqn-learned"; }

std::vector<DayFigures> days_of(const RunFigures& run) {
  std::vector<DayFigures> days;
  for (std::size_t from = 0; from + kHours <= run.hours.size(); from += kHours) {
    WaitedTime sum;
    for (std::size_t h = from; h < from + kHours; ++h) {
      const WaitedTime& hour = run.hours[h];
      sum.pod_s += hour.pod_s;
      sum.waited_pod_s += hour.waited_pod_s;
      sum.energy_j += hour.energy_j;
      sum.work_core_s += hour.work_core_s;
      sum.late_pod_s += hour.late_pod_s;
      sum.limited_pod_s += hour.limited_pod_s;
    }
    days.push_back({sum.energy_j / std::max(1.0, sum.work_core_s), sum.waited_pod_s / std::max(1.0, sum.pod_s),
                    sum.late_pod_s / std::max(1.0, sum.limited_pod_s)});
  }
  return days;
}

Result<WorldRun> run_one(const Episode& episode, const std::string& policy, const WorldsOptions& options,
                         const MakeLearner& make) {
  WorldRun run;
  if (learns(policy)) {
    WATTLE_TRY(const auto trainer, make());
    WATTLE_TRY(run.learned, run_learned(episode, options.learned, *trainer));
    run.figures = run.learned->figures;
  } else {
    WATTLE_TRY(const Contestant contestant, contestant_named(policy, options.learned.shipped.get()));
    WATTLE_TRY(run.figures, run_live(episode, nullptr, contestant, {}));
  }
  run.days = days_of(run.figures);
  return run;
}

std::vector<double> last_days(const WorldRow& row) {
  std::vector<double> values;
  for (const WorldRun& run : row.runs) values.push_back(run.days.back().energy_per_work_w);
  return values;
}

std::optional<Interval> over(const WorldRow& row, const WorldRow& base) {
  std::vector<double> ratios = last_days(row);
  const std::vector<double> bases = last_days(base);
  for (std::size_t k = 0; k < ratios.size(); ++k) ratios[k] = ratios[k] / bases[k] - 1;
  return iqm_interval(std::vector<std::vector<double>>{std::move(ratios)});
}

double mean_of(const WorldRow& row, double DayFigures::*what) {
  std::vector<double> values;
  for (const WorldRun& run : row.runs) values.push_back(run.days.back().*what);
  return mean(values);
}

void compare(WorldTable& table) {
  const auto floor = std::find_if(table.rows.begin(), table.rows.end(),
                                  [](const WorldRow& row) { return row.policy == "node-order"; });
  if (floor == table.rows.end()) return;
  double least_waiting = 1;
  for (WorldRow& row : table.rows) {
    row.over_floor = over(row, *floor);
    if (!learns(row.policy)) least_waiting = std::min(least_waiting, mean_of(row, &DayFigures::waiting));
  }
  const WorldRow* best = nullptr;
  for (const WorldRow& row : table.rows) {
    const double limit = std::max(row.runs.front().figures.wait_limit, kAsLittle * least_waiting);
    if (learns(row.policy) || mean_of(row, &DayFigures::waiting) > limit) continue;
    if (best == nullptr || row.over_floor->mean < best->over_floor->mean) best = &row;
  }
  table.best = best->policy;
  for (WorldRow& row : table.rows) row.over_best = over(row, *best);
}

std::string percent(const std::optional<Interval>& interval) {
  return interval ? interval_text(*interval, {.scale = 100, .sign = true}) : "-";
}

SortedJson to_json(const LearnedRun& learned) {
  SortedJson decisions = SortedJson::array();
  for (const std::uint64_t each : learned.decisions) decisions.push_back(each);
  SortedJson figures{{"placed", learned.learner.placed},
                     {"settled", learned.learner.settled},
                     {"steps", learned.learner.steps},
                     {"decisions", std::move(decisions)},
                     {"measured_groups", learned.learned_groups}};
  if (learned.learned_over_floor) figures["measured_over_floor"] = *learned.learned_over_floor;
  return figures;
}

}  // namespace

Result<std::vector<WorldTable>> compare_in_worlds(const Dataset& data, const WorldsOptions& options,
                                                  const MakeLearner& make,
                                                  const std::function<void(double, const std::string&)>& progress) {
  std::vector<WorldTable> tables;
  const double whole = static_cast<double>(options.worlds.size() * options.policies.size() * options.seeds);
  double done = 0;
  for (const std::string& world : options.worlds) {
    Options own = options.episode;
    WATTLE_TRY(own.experience, experience_named(world));
    own.crowded = own.crowded || own.experience.crowding;
    own.warm_s = 0;
    own.measure_s = kDay_s * static_cast<double>(options.days);
    WorldTable& table = tables.emplace_back(WorldTable{world, {}, {}});
    for (const std::string& policy : options.policies) table.rows.push_back({policy, {}, {}, {}});
    for (std::uint64_t seed = options.first_seed; seed < options.first_seed + options.seeds; ++seed) {
      own.cluster_seed = seed;
      const Episode episode = make_episode(data, own, seed);
      for (WorldRow& row : table.rows) {
        if (progress) progress(done / whole, world + ", seed " + std::to_string(seed) + ", " + row.policy);
        WATTLE_TRY(WorldRun run, run_one(episode, row.policy, options, make));
        row.runs.push_back(std::move(run));
        done += 1;
      }
    }
    compare(table);
  }
  return tables;
}

std::string to_table(const std::vector<WorldTable>& tables) {
  std::string out;
  for (const WorldTable& table : tables) {
    out += formatted("%s, best alternative: %s\n%-18s %26s %26s %10s %8s\n", table.world.c_str(),
                     table.best.empty() ? "-" : table.best.c_str(), "", "energy / node-order - 1", "energy / best - 1",
                     "waiting %", "late %");
    for (const WorldRow& row : table.rows) {
      out += formatted("%-18s %26s %26s %10.2f %8.2f\n", row.policy.c_str(), percent(row.over_floor).c_str(),
                       percent(row.over_best).c_str(), 100 * mean_of(row, &DayFigures::waiting),
                       100 * mean_of(row, &DayFigures::late));
    }
    out += "\n";
  }
  return out;
}

std::string to_json(const std::vector<WorldTable>& tables) {
  SortedJson worlds = SortedJson::array();
  for (const WorldTable& table : tables) {
    SortedJson rows = SortedJson::array();
    for (const WorldRow& row : table.rows) {
      SortedJson runs = SortedJson::array();
      for (const WorldRun& run : row.runs) {
        SortedJson days = SortedJson::array();
        for (const DayFigures& day : run.days)
          days.push_back({{"energy_per_work_w", day.energy_per_work_w}, {"waiting", day.waiting}, {"late", day.late}});
        SortedJson each{{"days", std::move(days)}, {"awake_nodes", run.figures.awake_nodes}};
        if (run.learned) each["learned"] = to_json(*run.learned);
        runs.push_back(std::move(each));
      }
      rows.push_back({{"policy", row.policy}, {"runs", std::move(runs)}});
    }
    worlds.push_back({{"world", table.world}, {"rows", std::move(rows)}});
  }
  return worlds.dump() + "\n";
}

}  // namespace wattle::sim::consolidation
