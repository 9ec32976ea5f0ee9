// student: the limits that it requests: a base that follows usage, temporary boosts, limits valid for the kernel, few
// writes.
#include "provision/student/student.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>
#include <vector>

using namespace wattle::actuator;

namespace {

constexpr double kTickS = 0.1;

// One second of ticks of 100 ms.
std::optional<Wish> second(Student& student, double cores, double margin = 0, bool throttled = false) {
  std::optional<Wish> wish;
  for (int tick = 0; tick < 10; ++tick) wish = student.observe({kTickS, cores * kTickS, throttled}, margin);
  return wish;
}

}  // namespace

TEST_CASE("no limit is requested before the first second") {
  Student student;
  for (int tick = 0; tick < 9; ++tick) CHECK_FALSE(student.observe({kTickS, 0.05, true}, 0));
  CHECK(student.observe({kTickS, 0.05, false}, 0));
}

TEST_CASE("the base is the mean of the last seconds plus the margin") {
  StudentRules rules;
  rules.window_s = 3;
  Student student(rules);
  for (const double cores : {9.0, 9.0, 1.0, 2.0, 3.0}) second(student, cores);
  CHECK(student.observe({kTickS, 0, false}, 0.25)->base_cores == doctest::Approx(2.5));
}

TEST_CASE("late ticks count by their length") {
  Student student;
  std::optional<Wish> wish;
  for (const double elapsed : {0.1, 0.35, 0.05, 0.2, 0.4}) wish = student.observe({elapsed, 2 * elapsed, false}, 0);
  REQUIRE(wish);
  CHECK(wish->base_cores == doctest::Approx(2));
}

TEST_CASE("a boost starts with the first throttled tick, grows with each one, and ends") {
  Student student;
  second(student, 1);
  const StudentRules& rules = student.rules();
  const auto throttled = [&](bool yes) { return student.observe({kTickS, 0.1, yes}, 0)->boost_cores; };
  CHECK(throttled(true) == doctest::Approx(rules.first_boost_ratio));
  CHECK(throttled(true) == doctest::Approx(rules.first_boost_ratio * rules.boost_growth));
  double before = throttled(false);
  CHECK(before == doctest::Approx(rules.first_boost_ratio * rules.boost_growth * rules.boost_decay));
  for (int tick = 0; tick < 50; ++tick) before = throttled(false);
  CHECK(before == 0);
}

TEST_CASE("overload ends: a workload that is throttled at each tick gets many times its base within a second") {
  Student student;
  second(student, 0.2);
  const std::optional<Wish> wish = second(student, 0.2, 0, true);
  CHECK(wish->boost_cores == doctest::Approx(wish->base_cores * student.rules().most_boost_ratio));
}

TEST_CASE("a steady workload is written once") {
  Student student;
  std::optional<CpuLimit> set;
  int writes = 0;
  for (int tick = 0; tick < 600; ++tick) {
    const auto wish = student.observe({kTickS, (tick % 2 == 0 ? 0.052 : 0.048), false}, 0.2);
    if (!wish) continue;
    if (const auto next = student.decide(*wish, set)) {
      set = next;
      ++writes;
    }
  }
  CHECK(writes == 1);
  CHECK(set->cores() == doctest::Approx(0.6).epsilon(0.02));
}

TEST_CASE("for any readings, the requested limits are valid for the kernel and within the rules") {
  CHECK(rc::check([] {
    StudentRules rules;
    rules.window_s = *rc::gen::inRange<std::size_t>(0, 100);
    rules.burst_ratio = *rc::gen::inRange(-1, 30) / 10.0;
    rules.most_cores = *rc::gen::inRange(1, 80) / 10.0;
    Student student(rules);
    std::optional<CpuLimit> set;
    if (*rc::gen::arbitrary<bool>())
      set = CpuLimit{*rc::gen::inRange<std::int64_t>(-1, 900'000), *rc::gen::inRange<std::int64_t>(0, 900'000)};
    const auto ticks = *rc::gen::inRange(1, 80);
    for (int tick = 0; tick < ticks; ++tick) {
      const double odd[] = {0, -1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
      const int kind = *rc::gen::inRange(0, 20);
      const double used = kind < 4 ? odd[kind] : *rc::gen::inRange(0, 400) / 1000.0;
      const double elapsed = kind >= 4 && kind < 8 ? odd[kind - 4] : *rc::gen::inRange(1, 400) / 1000.0;
      const auto wish =
          student.observe({elapsed, used, *rc::gen::arbitrary<bool>()}, *rc::gen::inRange(-20, 40) / 10.0);
      if (!wish) continue;
      RC_ASSERT(wish->base_cores >= rules.least_cores && wish->boost_cores >= 0);
      const auto next = student.decide(*wish, set);
      if (!next) continue;
      RC_ASSERT(next->quota_us >= 1000);
      RC_ASSERT(next->burst_us >= 0 && next->burst_us <= next->quota_us);
      RC_ASSERT(next->cores() <= std::max(rules.most_cores, rules.least_cores) + 0.001);
      // The kernel refuses a burst above the quota after each single write: if both fall, the burst is written first.
      const bool burst_first = set && next->quota_us < set->burst_us;
      if (burst_first && set->quota_us >= set->burst_us) RC_ASSERT(next->burst_us <= set->quota_us);
      if (set && !burst_first) RC_ASSERT(set->burst_us <= next->quota_us);
      RC_ASSERT_FALSE(student.decide(*wish, next));  // after one write the limits are as requested
      set = next;
    }
  }));
}

TEST_CASE("boosts never sum to more than the headroom, none grows, and bases stay") {
  CHECK(rc::check([] {
    std::vector<Wish> wishes(*rc::gen::inRange<std::size_t>(0, 20));
    for (Wish& wish : wishes) wish = {*rc::gen::inRange(0, 100) / 10.0, *rc::gen::inRange(0, 100) / 10.0};
    const std::vector<Wish> before = wishes;
    const double headroom = *rc::gen::inRange(-10, 300) / 10.0;
    bound_boosts(wishes, headroom);
    double sum = 0;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      RC_ASSERT(wishes[i].base_cores == before[i].base_cores);
      RC_ASSERT(wishes[i].boost_cores <= before[i].boost_cores);
      sum += wishes[i].boost_cores;
    }
    RC_ASSERT(sum <= std::max(headroom, 0.0) + 1e-9);
  }));
}

TEST_CASE("a node without idle cores, or under pressure, has no headroom") {
  CHECK(headroom_cores(8, 0.5, 0) == doctest::Approx(4));
  CHECK(headroom_cores(8, 0, 0) == 0);
  CHECK(headroom_cores(8, 0.5, 0.05) == doctest::Approx(2));
  CHECK(headroom_cores(8, 0.5, 0.5) == 0);
}
