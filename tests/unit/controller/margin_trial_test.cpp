#include "controller/provision/margin_trial.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace wattle::controller;

namespace {

struct Played {
  std::size_t teacher = 0, rule = 0, changes = 0;
};

// Minutes of one service: the excess cost of each side, and the share of requests over target in the teacher's minutes.
Played play(MarginTrial& trial, std::size_t minutes, double rule_waste, double teacher_waste, double teacher_late = 0,
            const std::string& service = "n/a.service") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> noise(-0.05, 0.05);
  Played played;
  bool teacher = false;
  for (std::size_t i = 0; i < minutes; ++i) {
    const TrialMinute ended{(teacher ? teacher_waste : rule_waste) + noise(random), teacher ? teacher_late : 0};
    const bool next = trial.next(service, ended);
    played.changes += next != teacher;
    teacher = next;
    (teacher ? played.teacher : played.rule) += 1;
  }
  return played;
}

}  // namespace

TEST_CASE("in modes off and shadow the teacher steers no minute") {
  for (const TeacherMode mode : {TeacherMode::off, TeacherMode::shadow}) {
    MarginTrial trial(mode, 1);
    CHECK(play(trial, 500, 0.2, 0).teacher == 0);
    CHECK(trial.test().blocks() == 0);
    CHECK_FALSE(trial.test().in_use());
  }
}

TEST_CASE("in mode canary the teacher has half of the minutes, in blocks of fifteen") {
  MarginTrial trial(TeacherMode::canary, 1);
  const Played played = play(trial, 3000, 0.2, 0.2);
  CHECK(played.teacher == 1500);
  CHECK(played.changes <= 200);
  CHECK(trial.test().blocks() >= 99);
}

TEST_CASE("a teacher that costs less is used; one that costs as much, or more, is not") {
  MarginTrial better(TeacherMode::canary, 1), same(TeacherMode::canary, 1), worse(TeacherMode::canary, 1);
  play(better, 3000, 0.25, 0.15);
  play(same, 30'000, 0.2, 0.2);
  play(worse, 3000, 0.15, 0.25);
  CHECK(better.test().in_use());
  CHECK_FALSE(same.test().in_use());
  CHECK_FALSE(worse.test().in_use());
}

TEST_CASE(
    "a teacher in use has at least three quarters of the minutes in mode live, and loses use when it falls behind") {
  MarginTrial trial(TeacherMode::live, 1);
  play(trial, 3000, 0.25, 0.15);
  REQUIRE(trial.test().in_use());
  const Played served = play(trial, 6000, 0.25, 0.15);
  CHECK(served.teacher > 4500);
  CHECK(served.rule > 300);
  play(trial, 60'000, 0.15, 0.4);
  CHECK_FALSE(trial.test().in_use());
  CHECK(trial.test().changes() >= 2);
}

TEST_CASE("a teacher with late requests loses its block at once, and is rolled back soon after") {
  MarginTrial trial(TeacherMode::canary, 1);
  const Played played = play(trial, 3000, 0.2, 0.1, 0.1);
  CHECK(trial.rolled_back());
  CHECK(trial.mode() == TeacherMode::shadow);
  CHECK(played.teacher < 60);
}

TEST_CASE("a rollback survives a restart, and ends when the configuration sets another mode") {
  MarginTrial trial(TeacherMode::canary, 1);
  play(trial, 3000, 0.2, 0.1, 0.1);
  MarginTrial again(TeacherMode::canary, 1);
  REQUIRE(again.restore(trial.saved()));
  CHECK(again.rolled_back());
  CHECK(play(again, 100, 0.2, 0.1).teacher == 0);
  MarginTrial shadow(TeacherMode::shadow, 1);
  REQUIRE(shadow.restore(again.saved()));
  CHECK_FALSE(shadow.rolled_back());
  MarginTrial canary(TeacherMode::canary, 1);
  REQUIRE(canary.restore(shadow.saved()));
  CHECK_FALSE(canary.rolled_back());
  CHECK(play(canary, 100, 0.2, 0.1).teacher > 0);
}

TEST_CASE("the state of a trial is restored unchanged, and an impossible state is refused") {
  MarginTrial trial(TeacherMode::canary, 1);
  play(trial, 500, 0.22, 0.2);
  MarginTrial again(TeacherMode::canary, 1);
  REQUIRE(again.restore(trial.saved()));
  CHECK(again.test().evidence() == trial.test().evidence());
  CHECK(again.test().blocks() == trial.test().blocks());
  CHECK(again.saved().rule.waste == trial.saved().rule.waste);
  TrialState wrong = trial.saved();
  wrong.test.mean_square = -1;
  CHECK_FALSE(again.restore(wrong));
  wrong = trial.saved();
  wrong.rule.over_ratio = 2;
  CHECK_FALSE(again.restore(wrong));
  CHECK(again.test().blocks() == trial.test().blocks());
}

TEST_CASE("a service whose minutes have a gap starts a new pair") {
  MarginTrial trial(TeacherMode::canary, 1);
  for (int i = 0; i < 100; ++i) {
    play(trial, 29, 0.3, 0);
    trial.restart("n/a.service");
  }
  CHECK(trial.test().blocks() == 0);
}
