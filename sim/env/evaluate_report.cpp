// evaluate_report: formats evaluations for people (to_table) and programs (to_json).
#include <array>

#include "common/formatted.hpp"
#include "common/json/value.hpp"
#include "sim/env/evaluate.hpp"

namespace wattle::sim {

namespace {

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
