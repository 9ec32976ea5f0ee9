// judge_report: formats a judgement for people and for programs.

#include "common/formatted.hpp"
#include "common/json/value.hpp"
#include "common/stats/bootstrap.hpp"
#include "lab/judges/provision.hpp"

namespace wattle::sim::provision {
namespace {

using json = SortedJson;
}  // namespace

std::string judgement_text(const JudgeOptions& options, const Judgement& judgement) {
  std::string text = formatted(
      "granted cores at <= %g%% of minutes whose p99 is over %g ms; %zu service%s, %zu seed%s from %llu, simulated\n",
      100 * options.minutes_over_ratio, 1000 * options.world.target_s, options.world.services,
      options.world.services == 1 ? "" : "s in a chain", options.seeds, options.seeds == 1 ? "" : "s",
      static_cast<unsigned long long>(options.first_seed));
  std::string trace;
  for (const Entry& entry : judgement.entries) {
    if (entry.trace != trace) {
      trace = entry.trace;
      text += formatted("\n%s, used %.3f cores\n  %-18s %8s %8s %8s %8s %10s  %s\n", trace.c_str(),
                        entry.settings.front().used_cores, "contestant", "setting", "granted", "over", "worst",
                        "writes/min", "wattle against it (95%)");
    }
    if (!entry.best) {
      text += formatted("  %-18s no setting keeps within the minutes allowed\n", entry.contestant.c_str());
      continue;
    }
    const SettingResult& best = entry.settings[*entry.best];
    text += formatted("  %-18s %8g %8.3f %7.1f%% %7.1f%% %10.1f", entry.contestant.c_str(), best.setting,
                      stats::mean(best.granted_cores), 100 * best.minutes_over_ratio, 100 * best.worst_seed_ratio,
                      best.writes_per_minute);
    if (entry.of_wattle)
      text += "  " + stats::interval_text(*entry.of_wattle, {.decimals = 1, .scale = 100, .sign = true, .unit = "%"});
    text += "\n";
  }
  text += "\ngeometric mean over traces\n";
  for (const Mean& mean : means_over_traces(judgement)) {
    text += formatted("  %-18s ", mean.contestant.c_str());
    text += mean.granted_cores ? formatted("%8.3f", *mean.granted_cores) : std::string("       -");
    if (mean.of_wattle) text += formatted("  wattle %+.1f%%", 100 * *mean.of_wattle);
    text += "\n";
  }
  return text + stats::seeds_note(options.seeds, "--seeds");
}

std::string judgement_json(const JudgeOptions& options, const Judgement& judgement) {
  json out = {{"simulated", true},
              {"target_s", options.world.target_s},
              {"services", options.world.services},
              {"work_s", options.world.work_s},
              {"work_cv", options.world.work_cv},
              {"cores", options.world.cores},
              {"seeds", options.seeds},
              {"first_seed", options.first_seed},
              {"minutes_over_ratio", options.minutes_over_ratio},
              {"entries", json::array()},
              {"geometric_mean", json::array()}};
  for (const Entry& entry : judgement.entries) {
    json settings = json::array();
    for (const SettingResult& each : entry.settings)
      settings.push_back({{"setting", each.setting},
                          {"granted_cores", each.granted_cores},
                          {"used_cores", each.used_cores},
                          {"minutes_over_ratio", each.minutes_over_ratio},
                          {"worst_seed_ratio", each.worst_seed_ratio},
                          {"requests_over_ratio", each.requests_over_ratio},
                          {"writes_per_minute", each.writes_per_minute}});
    json row = {{"trace", entry.trace}, {"contestant", entry.contestant}, {"settings", std::move(settings)}};
    row["best"] = entry.best ? json(*entry.best) : json(nullptr);
    if (entry.of_wattle)
      row["wattle_against_it"] = {
          {"mean", entry.of_wattle->mean}, {"low", entry.of_wattle->low}, {"high", entry.of_wattle->high}};
    out["entries"].push_back(std::move(row));
  }
  for (const Mean& mean : means_over_traces(judgement)) {
    json row = {{"contestant", mean.contestant}};
    if (mean.granted_cores) row["granted_cores"] = *mean.granted_cores;
    if (mean.of_wattle) row["wattle_against_it"] = *mean.of_wattle;
    out["geometric_mean"].push_back(std::move(row));
  }
  return out.dump(2) + "\n";
}

}  // namespace wattle::sim::provision
