#include "sim/provision/teacher_judge.hpp"

#include <algorithm>
#include <cassert>

#include "common/formatted.hpp"
#include "common/json/value.hpp"
#include "common/stats/bootstrap.hpp"
#include "common/stats/moments.hpp"
#include "sim/provision/steering.hpp"

namespace wattle::sim::provision {

namespace {

void count(Arm& arm, const Figures& figures, const TeacherJudgeOptions& options, Figures& sum) {
  const RunCost cost = cost_of(figures, options.steer.price);
  const auto share = 1 / static_cast<double>(options.seeds);
  arm.cost.push_back(cost.cost);
  arm.power_ratio.push_back(cost.power_ratio);
  arm.granted_cores += share * figures.granted_cores;
  arm.used_cores += share * figures.used_cores;
  arm.memory_gib += share * figures.memory_gib;
  arm.replicas += share * figures.replicas;
  arm.writes_per_minute += share * figures.writes_per_minute;
  sum.minutes += figures.minutes;
  sum.minutes_over += figures.minutes_over;
  sum.requests += figures.requests;
  sum.requests_over += figures.requests_over;
  const auto ratio = [](std::uint64_t part, std::uint64_t of) {
    return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
  };
  arm.minutes_over_ratio = ratio(sum.minutes_over, sum.minutes);
  arm.requests_over_ratio = ratio(sum.requests_over, sum.requests);
}

using json = SortedJson;

json interval_json(const stats::Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

std::string percent(const stats::Interval& interval) {
  return stats::interval_text(interval, {.decimals = 1, .scale = 100, .sign = true, .unit = "%"});
}

bool has(const TeacherEntry& entry, std::string_view name) {
  for (const Arm& arm : entry.arms)
    if (arm.name == name) return true;
  return false;
}

}  // namespace

const Arm& TeacherEntry::arm(std::string_view name) const {
  const auto found = std::find_if(arms.begin(), arms.end(), [&](const Arm& each) { return each.name == name; });
  assert(found != arms.end());
  return *found;
}

Result<TeacherJudgement> judge_teacher(const TeacherJudgeOptions& options,
                                       std::shared_ptr<const models::QNetwork> teacher,
                                       std::shared_ptr<const models::QNetwork> student, const Progress& progress) {
  RuleSteering rule, node_rule(true);
  NetworkSteering taught(teacher, false), learned(student, true);
  std::vector<std::pair<std::string_view, Steering*>> all{{kRuleArm, &rule}, {kNodeRuleArm, &node_rule}};
  if (teacher) all.emplace_back(kTeacherArm, &taught);
  if (student) all.emplace_back(kStudentArm, &learned);

  TeacherJudgement judgement;
  double done = 0;
  const double total = static_cast<double>(options.traces.size()) * static_cast<double>(all.size());
  for (const RateTrace& trace : options.traces) {
    TeacherEntry entry;
    entry.trace = trace.name;
    WorldOptions world = options.world;
    world.trace = std::make_shared<const RateTrace>(trace);
    for (const auto& [name, steering] : all) {
      progress(done++ / total, trace.name + " " + std::string(name));
      Arm arm;
      arm.name = name;
      Figures sum;
      for (std::size_t i = 0; i < options.seeds; ++i) {
        world.seed = options.first_seed + i;
        Steered services(world, options.steer, *steering);
        WATTLE_TRY(const Figures figures, play(World(world), services));
        count(arm, figures, options, sum);
        entry.forecast = services.forecast().score();
      }
      entry.arms.push_back(std::move(arm));
    }
    judgement.entries.push_back(std::move(entry));
  }
  progress(1, "");
  return judgement;
}

stats::Interval against(const TeacherEntry& entry, std::string_view arm, std::string_view other) {
  return stats::paired_ratio(entry.arm(arm).cost, entry.arm(other).cost);
}

std::optional<bool> better_than_rule(const TeacherJudgeOptions& options, const TeacherJudgement& judgement) {
  if (!stats::enough_seeds(options.seeds)) return std::nullopt;
  return std::all_of(judgement.entries.begin(), judgement.entries.end(), [&](const TeacherEntry& entry) {
    return against(entry, kTeacherArm, kRuleArm).below_zero() &&
           entry.arm(kTeacherArm).minutes_over_ratio <= options.minutes_over_ratio;
  });
}

std::string teacher_text(const TeacherJudgeOptions& options, const TeacherJudgement& judgement) {
  std::string text = formatted(
      "target %g ms; %zu service%s, %zu seed%s from %llu, simulated; cost: power of what is granted "
      "over that of what is used, and %g times the share of requests over target beyond 1%% of a minute\n",
      1000 * options.world.target_s, options.world.services, options.world.services == 1 ? "" : "s in a chain",
      options.seeds, options.seeds == 1 ? "" : "s", static_cast<unsigned long long>(options.first_seed),
      options.steer.price.over);
  for (const TeacherEntry& entry : judgement.entries) {
    text += formatted("\n%s\n  %-20s %7s %7s %8s %7s %7s %7s %9s  %s\n", entry.trace.c_str(), "", "cost", "power",
                      "granted", "GiB", "minutes", "over", "writes/m", "cost against the rule (95%)");
    for (const Arm& arm : entry.arms) {
      text += formatted("  %-20s %7.3f %7.3f %8.3f %7.3f %6.1f%% %6.2f%% %9.1f", arm.name.c_str(),
                        stats::mean(arm.cost), stats::mean(arm.power_ratio), arm.granted_cores, arm.memory_gib,
                        100 * arm.minutes_over_ratio, 100 * arm.requests_over_ratio, arm.writes_per_minute);
      if (arm.name != kRuleArm) text += "  " + percent(against(entry, arm.name, kRuleArm));
      text += "\n";
    }
    const placement::ForecastScore& forecast = entry.forecast;
    text += formatted(
        "  forecast of the next minute: off by %.1f requests/s (repeating the last minute: %.1f) of %.1f; %.0f%% in "
        "range\n",
        forecast.error_rps, forecast.last_error_rps, forecast.rate_rps, 100 * forecast.within_ratio);
    if (has(entry, kStudentArm) && has(entry, kTeacherArm))
      text += "  student against the teacher: " + percent(against(entry, kStudentArm, kTeacherArm)) + "\n";
  }
  if (!judgement.entries.empty() && has(judgement.entries.front(), kTeacherArm))
    if (const auto better = better_than_rule(options, judgement))
      text += *better
                  ? "\nthe teacher is better than the rule on every trace, with 95% confidence, within the allowed "
                    "minutes over target\n"
                  : "\nthe teacher is not shown better than the rule on every trace within the allowed minutes over "
                    "target\n";
  const std::string note = stats::seeds_note(options.seeds, "--seeds");
  return note.empty() ? text : text + "\n" + note;
}

std::string teacher_json(const TeacherJudgeOptions& options, const TeacherJudgement& judgement) {
  json out = {{"simulated", true},
              {"target_s", options.world.target_s},
              {"services", options.world.services},
              {"seeds", options.seeds},
              {"first_seed", options.first_seed},
              {"minutes_over_ratio", options.minutes_over_ratio},
              {"price",
               {{"core_w", options.steer.price.core_w},
                {"memory_w_per_gib", options.steer.price.memory_w_per_gib},
                {"over", options.steer.price.over}}},
              {"entries", json::array()}};
  for (const TeacherEntry& entry : judgement.entries) {
    json arms = json::array();
    for (const Arm& arm : entry.arms) {
      json row = {{"name", arm.name},
                  {"cost", arm.cost},
                  {"power_ratio", arm.power_ratio},
                  {"granted_cores", arm.granted_cores},
                  {"used_cores", arm.used_cores},
                  {"memory_gib", arm.memory_gib},
                  {"replicas", arm.replicas},
                  {"minutes_over_ratio", arm.minutes_over_ratio},
                  {"requests_over_ratio", arm.requests_over_ratio},
                  {"writes_per_minute", arm.writes_per_minute}};
      if (arm.name != kRuleArm) row["against_rule"] = interval_json(against(entry, arm.name, kRuleArm));
      arms.push_back(std::move(row));
    }
    json row = {{"trace", entry.trace},
                {"arms", std::move(arms)},
                {"forecast",
                 {{"minutes", entry.forecast.minutes},
                  {"error_rps", entry.forecast.error_rps},
                  {"last_error_rps", entry.forecast.last_error_rps},
                  {"rate_rps", entry.forecast.rate_rps},
                  {"within_ratio", entry.forecast.within_ratio}}}};
    if (has(entry, kStudentArm) && has(entry, kTeacherArm))
      row["student_against_teacher"] = interval_json(against(entry, kStudentArm, kTeacherArm));
    out["entries"].push_back(std::move(row));
  }
  if (!judgement.entries.empty() && has(judgement.entries.front(), kTeacherArm))
    if (const auto better = better_than_rule(options, judgement)) out["better_than_rule"] = *better;
  return out.dump(2) + "\n";
}

}  // namespace wattle::sim::provision
