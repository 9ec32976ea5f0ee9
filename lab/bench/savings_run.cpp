#include "lab/bench/savings_run.hpp"

#include <numeric>
#include <utility>

#include "common/formatted.hpp"
#include "lab/bench/live_run.hpp"
#include "lab/policies/lab_policies.hpp"

namespace wattle::sim::consolidation {

namespace {

constexpr std::size_t kHoursOfDay = 24, kDaysOfWeek = 7, kHoursOfWeek = kHoursOfDay * kDaysOfWeek;
constexpr double kSavingsHour_s = 3600, kSavingsTelemetry_s = 30;

// The first day is not compared.
double week_w(const RunFigures& figures, std::size_t week) {
  const std::size_t first = kHoursOfDay + week * kHoursOfWeek;
  double sum_j = 0;
  for (std::size_t hour = first; hour < first + kHoursOfWeek; ++hour) sum_j += figures.hours.at(hour).energy_j;
  return sum_j / (kSavingsHour_s * static_cast<double>(kHoursOfWeek));
}

double asleep_w(const RunFigures& figures, std::size_t week) {
  const auto first = figures.asleep_w.begin() + static_cast<std::ptrdiff_t>(kHoursOfDay + week * kHoursOfWeek);
  return std::accumulate(first, first + kHoursOfWeek, 0.0) / static_cast<double>(kHoursOfWeek);
}

}  // namespace

Result<std::vector<SavingsRun>> run_savings(const Dataset& data, const BenchOptions& options, std::size_t weeks) {
  WATTLE_TRY(const Contestant contestant, lab_contestant(options.rules.front(), options.network.get()));
  std::vector<SavingsRun> runs;
  for (std::size_t k = 0; k < options.seeds; ++k) {
    Options drawn = options.episode;
    drawn.nodes = options.nodes.front();
    const std::uint64_t seed = options.first_seed + k;
    const Episode before = episode_before(data, drawn, seed);
    drawn.measure_s = kSavingsHour_s * static_cast<double>(kHoursOfDay + kHoursOfWeek * weeks);
    const Episode episode = make_episode(data, drawn, seed);
    LiveRunOptions live;
    live.telemetry_period_s = kSavingsTelemetry_s;
    live.set_requests = SetWhat::projected;
    WATTLE_TRY(const RunFigures kept, run_live(episode, &before, contestant, live));
    live.set_requests = SetWhat::cpu_and_memory;
    WATTLE_TRY(const RunFigures set, run_live(episode, &before, contestant, live));
    SavingsRun run{seed, {}};
    for (std::size_t week = 0; week < weeks; ++week) {
      const double fleet_w = week_w(kept, week);
      const ProjectedDay& day = kept.projected.at(1 + week * kDaysOfWeek);
      run.weeks.push_back({{day.requests, fleet_w - week_w(set, week)}, {day.sleep, asleep_w(kept, week)}, fleet_w});
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string savings_table(const std::vector<SavingsRun>& runs) {
  std::string text = "   seed  week   fleet, W  lever     projected, W             saved, W  held\n", sums;
  std::size_t all_held = 0, all_weeks = 0;
  for (const auto& [name, lever] : {std::pair{"requests", &SavingsWeek::requests}, {"sleep", &SavingsWeek::sleep}}) {
    std::size_t held = 0, weeks = 0;
    for (const SavingsRun& run : runs)
      for (std::size_t week = 0; week < run.weeks.size(); ++week) {
        const ProjectedSaving& one = run.weeks[week].*lever;
        const stats::Interval& said = one.projected_w;
        text += formatted("%7llu  %4zu  %9.1f  %-8s  %6.1f [%6.1f, %6.1f]  %9.1f  %s\n",
                          static_cast<unsigned long long>(run.seed), week + 1, run.weeks[week].fleet_w, name, said.mean,
                          said.low, said.high, one.saved_w,
                          !said.known() ? "-"
                          : one.held()  ? "yes"
                                        : "no");
        held += said.known() && one.held() ? 1 : 0;
        weeks += said.known() ? 1 : 0;
      }
    sums += formatted("%s: the interval held in %zu of %zu weeks\n", name, held, weeks);
    all_held += held;
    all_weeks += weeks;
  }
  return text + sums + formatted("all: the interval held in %zu of %zu weeks\n", all_held, all_weeks);
}

}  // namespace wattle::sim::consolidation
