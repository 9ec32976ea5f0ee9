// teacher_judge: compares teacher and student with the rule, on rate traces that none of them was trained on, with the
// same requests for each.
// Cost     of a run: power of the grant over that of the usage, and the price of requests over target beyond 1% of a
//          minute (steered.hpp)
// Units    cores, GiB; shares
// Errors   errors of a world's write
// Threads  pure except for `progress`
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/stats/interval.hpp"
#include "provision/requests/rate_forecast.hpp"
#include "sim/provision/teach.hpp"

namespace wattle::sim::provision {

struct TeacherJudgeOptions {
  std::vector<RateTrace> traces;
  WorldOptions world;  // trace and seed are set here
  SteerOptions steer;
  std::size_t seeds = 10;
  std::uint64_t first_seed = 2'000'000;
  double minutes_over_ratio = 0.05;  // allowed share
};

struct Arm {
  std::string name;
  std::vector<double> cost, power_ratio;                                                          // per seed
  double granted_cores = 0, used_cores = 0, memory_gib = 0, replicas = 0, writes_per_minute = 0;  // means
  double minutes_over_ratio = 0, requests_over_ratio = 0;
};

struct TeacherEntry {
  std::string trace;
  std::vector<Arm> arms;
  placement::ForecastScore forecast;
  const Arm& arm(std::string_view name) const;
};

struct TeacherJudgement {
  std::vector<TeacherEntry> entries;
};

inline constexpr std::string_view kRuleArm = "rule", kNodeRuleArm = "rule by throttling", kTeacherArm = "teacher",
                                  kStudentArm = "student";

// Either network may be null; its arms are then omitted.
Result<TeacherJudgement> judge_teacher(const TeacherJudgeOptions& options,
                                       std::shared_ptr<const models::QNetwork> teacher,
                                       std::shared_ptr<const models::QNetwork> student, const Progress& progress);

// Cost of one over that of another minus 1, resampled over pairs of seeds.
stats::Interval against(const TeacherEntry& entry, std::string_view arm, std::string_view other);
// True if the teacher is better with 95% confidence on every trace and stays within the permitted minutes over. Unset:
// too few seeds for a verdict.
std::optional<bool> better_than_rule(const TeacherJudgeOptions& options, const TeacherJudgement& judgement);

std::string teacher_text(const TeacherJudgeOptions& options, const TeacherJudgement& judgement);
std::string teacher_json(const TeacherJudgeOptions& options, const TeacherJudgement& judgement);

}  // namespace wattle::sim::provision
