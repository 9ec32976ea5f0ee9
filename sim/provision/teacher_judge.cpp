#include "sim/provision/teacher_judge.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "common/stats/bootstrap.hpp"
#include "common/stats/moments.hpp"
#include "sim/provision/steering.hpp"

namespace wattle::sim::provision {

namespace {

constexpr double kBlockS = 900, kHourS = 3600;
constexpr double kDifferenceUnit = 0.2;  // of the test: a block that costs a fifth more counts in full

// Cost of a block. Figures are means since the start of judging, so both ends are weighted by their time.
double block_cost(const Figures& from, double from_s, const Figures& to, double to_s,
                  const models::provision::Price& price) {
  const auto between = [&](double a, double b) { return (b * to_s - a * from_s) / std::max(to_s - from_s, kPeriodS); };
  Figures block;
  block.granted_cores = between(from.granted_cores, to.granted_cores);
  block.used_cores = between(from.used_cores, to.used_cores);
  block.memory_gib = between(from.memory_gib, to.memory_gib);
  block.requests = to.requests - std::min(from.requests, to.requests);
  block.requests_excess = std::max(0.0, to.requests_excess - from.requests_excess);
  return cost_of(block, price).cost;
}

// The services of a world; both are copied to try a block.
struct Running {
  World world;
  Steered services;

  Status tick(std::vector<std::optional<actuator::CpuLimit>>& next) {
    const Reading reading = world.advance();
    std::fill(next.begin(), next.end(), std::nullopt);
    services.tick(reading, next);
    for (std::size_t i = 0; i < next.size(); ++i)
      if (next[i]) WATTLE_CHECK(world.write(i, *next[i]));
    const auto shapes = services.shapes();
    for (std::size_t i = 0; i < shapes.size(); ++i) world.shape(i, shapes[i]);
    return {};
  }
};

class GatedRun {
 public:
  GatedRun(const TeacherJudgeOptions& options, Steering& rule, Steering& teacher)
      : options_(options), rule_(rule), teacher_(teacher), test_({.begins_gated = true}) {}

  Result<Figures> play(const WorldOptions& world) {
    Running main{World(world), Steered(world, options_.steer, steering())};
    next_.assign(world.services * world.most_replicas, std::nullopt);
    double block_s = world.warm_s, now_s = 0;
    while (!main.world.done()) {
      if (now_s >= block_s) {
        WATTLE_CHECK(contend(main, now_s));
        main.services.steer_by(steering());
        block_s = now_s + kBlockS;
      }
      WATTLE_CHECK(main.tick(next_));
      now_s = main.world.now_s();
    }
    lived_s_ += now_s - world.warm_s;
    return main.world.figures();
  }
  GateLife life() const {
    return {test_.blocks(), test_.changes(),
            test_.blocks() == 0 ? 0 : static_cast<double>(received_) / static_cast<double>(test_.blocks()), observed_h_,
            differences_.mean()};
  }

 private:
  Steering& steering() { return test_.in_use() ? teacher_ : rule_; }

  Status contend(const Running& main, double now_s) {
    const double warm_s = main.world.options().warm_s;
    const Figures from = main.world.figures();
    double cost[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
      Running copy = main;
      copy.services.steer_by(i == 0 ? rule_ : teacher_);
      double to_s = now_s;
      while (!copy.world.done() && to_s < now_s + kBlockS) {
        WATTLE_CHECK(copy.tick(next_));
        to_s = copy.world.now_s();
      }
      cost[i] = block_cost(from, now_s - warm_s, copy.world.figures(), to_s - warm_s, options_.steer.price);
    }
    const double difference = cost[1] / cost[0] - 1;
    differences_.add(difference);
    if (test_.add(difference / kDifferenceUnit) && !observed_h_)
      observed_h_ = (lived_s_ + now_s - warm_s + kBlockS) / kHourS;
    received_ += test_.in_use() ? 1 : 0;
    return {};
  }

  const TeacherJudgeOptions& options_;
  Steering &rule_, &teacher_;
  stats::NetworkTrial test_;
  std::vector<std::optional<actuator::CpuLimit>> next_;
  stats::Moments differences_;
  std::uint64_t received_ = 0;
  std::optional<double> observed_h_;
  double lived_s_ = 0;
};

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
  NetworkSteering untrained(nullptr, false), taught(teacher, false), learned(student, true);
  SteerOptions low = options.steer;
  low.rule.least_margin = options.steer.bounds.least_margin;
  SteerOptions bold = low;
  bold.rule.aim_ratio = 0.008;
  struct Who {
    std::string_view name;
    Steering* steering;
    const SteerOptions* options;
  };
  std::vector<Who> all{{kRuleArm, &rule, &options.steer},
                       {kLowRuleArm, &rule, &low},
                       {kBoldRuleArm, &rule, &bold},
                       {kNodeRuleArm, &node_rule, &options.steer},
                       {kPriorArm, &untrained, &options.steer}};
  if (teacher) all.push_back({kTeacherArm, &taught, &options.steer});
  if (student) all.push_back({kStudentArm, &learned, &options.steer});

  TeacherJudgement judgement;
  double done = 0;
  const double total = static_cast<double>(options.traces.size()) * static_cast<double>(all.size() + 3);
  for (const RateTrace& trace : options.traces) {
    TeacherEntry entry;
    entry.trace = trace.name;
    WorldOptions world = options.world;
    world.trace = std::make_shared<const RateTrace>(trace);
    for (const Who& who : all) {
      progress(done++ / total, trace.name + " " + std::string(who.name));
      Arm arm;
      arm.name = who.name;
      Figures sum;
      for (std::size_t i = 0; i < options.seeds; ++i) {
        world.seed = options.first_seed + i;
        Steered services(world, *who.options, *who.steering);
        WATTLE_TRY(const Figures figures, play(World(world), services));
        count(arm, figures, options, sum);
        entry.forecast = services.forecast().score();
      }
      entry.arms.push_back(std::move(arm));
    }
    if (teacher) {
      progress(done / total, trace.name + " " + std::string(kServedArm));
      done += 3;
      GatedRun gated(options, rule, taught);
      Arm arm;
      arm.name = kServedArm;
      Figures sum;
      for (std::size_t i = 0; i < options.seeds; ++i) {
        world.seed = options.first_seed + i;
        WATTLE_TRY(const Figures figures, gated.play(world));
        count(arm, figures, options, sum);
      }
      entry.arms.push_back(std::move(arm));
      entry.gate = gated.life();
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
