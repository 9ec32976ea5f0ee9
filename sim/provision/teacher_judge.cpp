#include "sim/provision/teacher_judge.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

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

}  // namespace wattle::sim::provision
