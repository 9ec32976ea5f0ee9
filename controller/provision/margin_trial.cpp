#include "controller/provision/margin_trial.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::controller {

namespace {

constexpr double kDifferenceUnit =
    0.2;  // scale of the test: a pair in which the teacher costs more by a fifth of the need counts in full
constexpr double kMemoryMinutes = 240;
constexpr double kLate = 0.01;        // share of a minute's requests beyond which its 99th percentile is over target
constexpr double kMostLate = 0.05;    // share of a minute's requests; beyond it the teacher loses the block
constexpr double kMostOver = 0.05;    // share of minutes
constexpr double kLeastMinutes = 30;  // of the teacher, before a rollback
constexpr std::uint64_t kComparedOf = 4;  // one pair in this many is compared while the gate is open in mode live

// SplitMix64: draws the same number for the same service and pair, also after a restart.
std::uint64_t draw_of(std::uint64_t seed, const std::string& service, std::uint64_t pair) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15ULL * (pair + 1);
  for (const char c : service) z = (z ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

void fade(TrialSide& side, const TrialMinute& ended) {
  side.minutes += 1;
  const double share = std::max(1 / side.minutes, 1 / kMemoryMinutes);
  side.waste += share * (ended.waste - side.waste);
  side.over_ratio += share * ((ended.over_ratio > kLate ? 1 : 0) - side.over_ratio);
}

bool sane(const TrialSide& side) {
  return std::isfinite(side.minutes) && side.minutes >= 0 && std::isfinite(side.waste) && side.over_ratio >= 0 &&
         side.over_ratio <= 1;
}

}  // namespace

std::string_view to_string(TeacherMode mode) {
  constexpr std::string_view kNames[] = {"off", "shadow", "canary", "live"};
  return kNames[static_cast<std::size_t>(mode)];
}

MarginTrial::MarginTrial(TeacherMode mode, std::uint64_t seed, double allowance)
    : configured_(mode), seed_(seed), allowance_(allowance), test_({.begins_gated = true}) {}

TrialState MarginTrial::saved() const { return {test_.saved(), rule_, teacher_, pairs_, rolled_back_, configured_}; }

bool MarginTrial::restore(const TrialState& state) {
  if (!sane(state.rule) || !sane(state.teacher) || !test_.restore(state.test)) return false;
  rule_ = state.rule;
  teacher_ = state.teacher;
  pairs_ = state.pairs;
  rolled_back_ = state.rolled_back && state.mode == configured_;
  if (state.rolled_back && !rolled_back_) teacher_ = {};
  return true;
}

stats::NetworkState MarginTrial::state() const {
  if (rolled_back_) return stats::NetworkState::withdrawn;
  if (mode() < TeacherMode::canary) return stats::NetworkState::candidate;
  return test_.in_use() ? stats::NetworkState::in_use : stats::NetworkState::on_trial;
}

TeacherMode MarginTrial::mode() const {
  return rolled_back_ ? std::min(configured_, TeacherMode::shadow) : configured_;
}

void MarginTrial::draw(const std::string& service, Pair& pair) const {
  const std::uint64_t drawn = draw_of(seed_, service, pair.number);
  const std::uint64_t number = pair.number;
  pair = {};
  pair.number = number;
  pair.teacher_first = drawn % 2 == 0;
  pair.compared = mode() != TeacherMode::live || !test_.in_use() || (drawn >> 1U) % kComparedOf == 0;
}

bool MarginTrial::of_teacher(const Pair& pair) const {
  return !pair.compared || (pair.minute < kBlockMinutes) == pair.teacher_first;
}

void MarginTrial::count(const Pair& pair, const TrialMinute& ended) {
  fade(of_teacher(pair) ? teacher_ : rule_, ended);
  rolled_back_ = rolled_back_ || (teacher_.minutes >= kLeastMinutes && teacher_.over_ratio > kMostOver &&
                                  teacher_.over_ratio > rule_.over_ratio + kMostOver);
}

bool MarginTrial::guarded(const std::string& service) const {
  const auto found = services_.find(service);
  return found != services_.end() && found->second.guarded;
}

bool MarginTrial::next(const std::string& service, const TrialMinute& ended) {
  if (!std::isfinite(ended.waste)) return false;
  if (mode() < TeacherMode::canary) {
    services_.clear();
    fade(rule_, ended);
    return false;
  }
  const auto [found, first] = services_.try_emplace(service);
  Pair& pair = found->second;
  if (first) {
    pair.number = pairs_++;
    draw(service, pair);
    return of_teacher(pair) && !pair.guarded;
  }
  count(pair, ended);
  if (pair.minute % kBlockMinutes >= kWashedOut) {
    const std::size_t side = of_teacher(pair) ? 1 : 0;
    pair.waste[side] += ended.waste;
    ++pair.minutes[side];
  }
  pair.guarded = pair.guarded || (of_teacher(pair) && ended.over_ratio > kMostLate);
  if (++pair.minute % kBlockMinutes == 0) pair.guarded = false;
  if (pair.minute == 2 * kBlockMinutes) {
    const double difference = pair.waste[1] / pair.minutes[1] - pair.waste[0] / pair.minutes[0];
    if (pair.compared) test_.add((difference - allowance_) / kDifferenceUnit);
    pair.number = pairs_++;
    draw(service, pair);
  }
  return mode() >= TeacherMode::canary && of_teacher(pair) && !pair.guarded;
}

}  // namespace wattle::controller
