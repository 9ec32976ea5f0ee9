#include "lab/judges/provision.hpp"

#include <algorithm>
#include <cmath>

#include "common/formatted.hpp"
#include "common/json/value.hpp"
#include "common/stats/bootstrap.hpp"

namespace wattle::sim::provision {
namespace {

constexpr std::string_view kOurs = "wattle";

Result<SettingResult> play_seeds(const JudgeOptions& options, WorldOptions world, const Contestant& contestant,
                                 double setting) {
  SettingResult result;
  result.setting = setting;
  const Maker make = contestant.prepare(world, setting);
  Figures sum;
  double used = 0, writes = 0;
  const double minutes_allowed = options.minutes_over_ratio * static_cast<double>(options.seeds) *
                                 std::ceil(static_cast<double>(world.trace->rates_rps.size()) / 60);
  // Stops once the minutes over target exceed the allowance of all seeds.
  for (std::size_t i = 0; i < options.seeds && static_cast<double>(sum.minutes_over) <= minutes_allowed; ++i) {
    world.seed = options.first_seed + i;
    const auto provisioner = make(world.seed);
    WATTLE_TRY(const Figures figures, play(World(world), *provisioner));
    result.granted_cores.push_back(figures.granted_cores);
    used += figures.used_cores;
    const auto minutes = static_cast<double>(std::max<std::uint64_t>(figures.minutes, 1));
    result.worst_seed_ratio = std::max(result.worst_seed_ratio, static_cast<double>(figures.minutes_over) / minutes);
    sum.minutes += figures.minutes;
    sum.minutes_over += figures.minutes_over;
    sum.requests += figures.requests;
    sum.requests_over += figures.requests_over;
    writes += figures.writes_per_minute;
  }
  const auto share = [](std::uint64_t part, std::uint64_t of) {
    return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
  };
  result.minutes_over_ratio = share(sum.minutes_over, sum.minutes);
  result.requests_over_ratio = share(sum.requests_over, sum.requests);
  const auto played = static_cast<double>(result.granted_cores.size());
  result.used_cores = used / played;
  result.writes_per_minute = writes / played;
  return result;
}

std::optional<std::size_t> best_of(const std::vector<SettingResult>& settings, double minutes_over_ratio) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].minutes_over_ratio > minutes_over_ratio) continue;
    if (!best || stats::mean(settings[i].granted_cores) < stats::mean(settings[*best].granted_cores)) best = i;
  }
  return best;
}

using json = SortedJson;

}  // namespace

Result<Judgement> judge(const JudgeOptions& options, const std::function<void(double, const std::string&)>& progress) {
  std::vector<const Contestant*> chosen;
  if (options.contestants.empty())
    for (const Contestant& each : contestants()) chosen.push_back(&each);
  for (const std::string& name : options.contestants) {
    const Contestant* found = find_contestant(name);
    if (found == nullptr) {
      std::string known;
      for (const Contestant& each : contestants()) known += (known.empty() ? "" : ", ") + std::string(each.name);
      return fail(Errc::not_found, name, "is not a contestant", "one of " + known);
    }
    chosen.push_back(found);
  }
  std::size_t total = 0, played = 0;
  for (const Contestant* each : chosen) total += each->settings.size() * options.traces.size();
  Judgement judgement;
  for (const RateTrace& trace : options.traces) {
    WorldOptions world = options.world;
    world.trace = std::make_shared<const RateTrace>(trace);
    const std::size_t first = judgement.entries.size();
    for (const Contestant* contestant : chosen) {
      world.clairvoyant = contestant->name == kClairvoyant;
      Entry entry;
      entry.trace = trace.name;
      entry.contestant = contestant->name;
      for (const double setting : contestant->settings) {
        progress(static_cast<double>(played++) / static_cast<double>(total), trace.name + " " + entry.contestant);
        WATTLE_TRY(SettingResult result, play_seeds(options, world, *contestant, setting));
        entry.settings.push_back(std::move(result));
      }
      entry.best = best_of(entry.settings, options.minutes_over_ratio);
      judgement.entries.push_back(std::move(entry));
    }
    const auto begin = judgement.entries.begin() + static_cast<std::ptrdiff_t>(first);
    const auto ours =
        std::find_if(begin, judgement.entries.end(), [](const Entry& entry) { return entry.contestant == kOurs; });
    if (ours == judgement.entries.end() || !ours->best) continue;
    for (auto entry = begin; entry != judgement.entries.end(); ++entry)
      if (entry->best && entry != ours)
        entry->of_wattle =
            stats::paired_ratio(ours->settings[*ours->best].granted_cores, entry->settings[*entry->best].granted_cores);
  }
  progress(1, "");
  return judgement;
}

std::vector<Mean> means_over_traces(const Judgement& judgement) {
  std::vector<Mean> means;
  for (const Entry& entry : judgement.entries) {
    if (std::any_of(means.begin(), means.end(), [&](const Mean& mean) { return mean.contestant == entry.contestant; }))
      continue;
    double granted = 0, of_wattle = 0, count = 0;
    bool whole = true, compared = true;
    for (const Entry& each : judgement.entries) {
      if (each.contestant != entry.contestant) continue;
      whole = whole && each.best;
      compared = compared && each.of_wattle;
      if (each.best) granted += std::log(stats::mean(each.settings[*each.best].granted_cores));
      if (each.of_wattle) of_wattle += std::log1p(each.of_wattle->mean);
      ++count;
    }
    Mean mean{entry.contestant, std::nullopt, std::nullopt};
    if (whole) mean.granted_cores = std::exp(granted / count);
    if (compared) mean.of_wattle = std::expm1(of_wattle / count);
    means.push_back(std::move(mean));
  }
  return means;
}

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
