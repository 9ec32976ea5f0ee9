#include "lab/judges/requests.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "common/json/value.hpp"
#include "common/stats/bootstrap.hpp"
#include "common/stats/quantile.hpp"
#include "lab/contestants/vpa.hpp"

namespace wattle::sim::requests {
namespace {

using json = SortedJson;

constexpr double kMinute_s = 60;
constexpr std::size_t kMinutesPerSample = static_cast<std::size_t>(consolidation::kSample_s / kMinute_s);
constexpr std::size_t kMinutes = consolidation::kDaySamples * kMinutesPerSample;
constexpr std::size_t kJudgedFrom = 13 * 60;  // an hour after the rule has enough data to suggest less
constexpr auto kJudgedMinutes = static_cast<double>(kMinutes - kJudgedFrom);

// Sums over minutes.
struct Tally {
  double requested = 0, slack = 0, missing = 0, under = 0, changes = 0;
  void add(double request, double used, bool changed) {
    requested += request;
    slack += std::max(0.0, request - used);
    missing += std::max(0.0, used - request);
    under += used > request ? 1 : 0;
    changes += changed ? 1 : 0;
  }
  void add(const Tally& other) {
    requested += other.requested;
    slack += other.slack;
    missing += other.missing;
    under += other.under;
    changes += other.changes;
  }
};

struct Machine {
  Tally wattle, vpa;
  double used = 0;
};

using Samples = std::array<float, consolidation::kDaySamples>;

double used_cores(const JudgeOptions& options, const Samples& samples, std::size_t minute) {
  return options.cores * static_cast<double>(samples[minute / kMinutesPerSample]) / 100;
}

Tally play_constant(const JudgeOptions& options, const Samples& samples, double covered_ratio) {
  std::vector<double> used;
  for (std::size_t minute = kJudgedFrom; minute < kMinutes; ++minute)
    used.push_back(used_cores(options, samples, minute));
  const double request = stats::quantile(used, covered_ratio).value_or(0);
  Tally tally;
  for (const double cores : used) tally.add(request, cores, false);
  return tally;
}

Machine play(const JudgeOptions& options, const Samples& samples) {
  Machine machine;
  placement::RequestRule rule(options.rule);
  provision::Vpa vpa;
  const placement::Resources original{options.cores, 0};
  double ours = options.cores, theirs = options.cores;
  for (std::size_t minute = 0; minute < kMinutes; ++minute) {
    const double used = used_cores(options, samples, minute);
    const double now_s = kMinute_s * static_cast<double>(minute + 1);
    const double our_next = [&] {
      rule.add_cpu(used, kMinute_s, now_s);
      rule.look(original, now_s);
      return rule.cpu_cores().value_or(options.cores);
    }();
    const double their_next = vpa.minute(used, theirs, now_s).value_or(theirs);
    if (minute >= kJudgedFrom) {
      machine.used += used;
      machine.wattle.add(ours, used, our_next != ours);
      machine.vpa.add(theirs, used, their_next != theirs);
    }
    ours = our_next;
    theirs = their_next;
  }
  return machine;
}

RuleFigures figures_of(const Tally& tally, double minutes) {
  constexpr double kMinutesPerDay = 1440;
  return {tally.requested / minutes, tally.slack / minutes, tally.missing / minutes, tally.under / minutes,
          tally.changes / minutes * kMinutesPerDay};
}

json figures_json(const RuleFigures& figures) {
  return {{"requested_cores", figures.requested_cores},
          {"slack_cores", figures.slack_cores},
          {"short_cores", figures.short_cores},
          {"under_ratio", figures.under_ratio},
          {"changes_per_day", figures.changes_per_day}};
}

}  // namespace

DayResult judge_day(const JudgeOptions& options, const consolidation::DemandDay& day) {
  DayResult result;
  result.day = day.name;
  result.machines = day.machines.size();
  Tally wattle, vpa;
  double used = 0;
  std::vector<double> our_slack, their_slack;
  for (const auto& samples : day.machines) {
    const Machine machine = play(options, samples);
    wattle.add(machine.wattle);
    vpa.add(machine.vpa);
    used += machine.used;
    our_slack.push_back(machine.wattle.slack / kJudgedMinutes);
    their_slack.push_back(machine.vpa.slack / kJudgedMinutes);
  }
  const double minutes = kJudgedMinutes * static_cast<double>(day.machines.size());
  result.used_cores = used / minutes;
  result.wattle = figures_of(wattle, minutes);
  result.vpa = figures_of(vpa, minutes);
  result.slack_against_vpa = stats::paired_difference(our_slack, their_slack);
  Tally constant;
  for (const auto& samples : day.machines) constant.add(play_constant(options, samples, 1 - result.vpa.under_ratio));
  result.constant = figures_of(constant, minutes);
  return result;
}

std::string results_text(const JudgeOptions& options, const std::vector<DayResult>& results) {
  char line[256];
  std::string text;
  const auto add = [&](const char* form, auto... values) {
    std::snprintf(line, sizeof line, form, values...);
    text += line;
  };
  add("requests of CPU on histories of use, %g cores a machine; of each day the last 11 hours, after 13 to learn; "
      "simulated\n",
      options.cores);
  for (const DayResult& each : results) {
    add("\n%s, %zu machines, used %.3f cores\n  %-8s %10s %8s %8s %8s %12s\n", each.day.c_str(), each.machines,
        each.used_cores, "rule", "requested", "slack", "under", "short", "changes/day");
    for (const auto& [name, figures] :
         {std::pair{"wattle", &each.wattle}, std::pair{"vpa", &each.vpa}, std::pair{"constant", &each.constant}})
      add("  %-8s %10.3f %8.3f %7.2f%% %8.4f %12.1f\n", name, figures->requested_cores, figures->slack_cores,
          100 * figures->under_ratio, figures->short_cores, figures->changes_per_day);
    add("  slack against vpa %+.1f%%: %s\n", 100 * (each.wattle.slack_cores / each.vpa.slack_cores - 1),
        stats::interval_text(each.slack_against_vpa, {.decimals = 4, .sign = true, .unit = " cores"}).c_str());
    text += stats::seeds_note(each.machines, "--machines");
  }
  return text;
}

std::string results_json(const JudgeOptions& options, const std::vector<DayResult>& results) {
  json days = json::array();
  for (const DayResult& each : results)
    days.push_back({{"day", each.day},
                    {"machines", each.machines},
                    {"used_cores", each.used_cores},
                    {"wattle", figures_json(each.wattle)},
                    {"vpa", figures_json(each.vpa)},
                    {"constant", figures_json(each.constant)},
                    {"slack_against_vpa_cores",
                     {{"mean", each.slack_against_vpa.mean},
                      {"low", each.slack_against_vpa.low},
                      {"high", each.slack_against_vpa.high}}}});
  return json{{"simulated", true},
              {"cores", options.cores},
              {"share", options.rule.cpu_share},
              {"half_life_s", options.rule.cpu_half_life_s},
              {"load_exponent", options.rule.load_exponent},
              {"days", std::move(days)}}
             .dump(2) +
         "\n";
}

}  // namespace wattle::sim::requests
