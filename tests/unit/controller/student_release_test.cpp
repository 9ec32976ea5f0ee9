// The student's trial: when it is sent to nodes, and when and why it is withdrawn.
#include "controller/provision/student_release.hpp"

#include <doctest/doctest.h>

#include <random>

#include "controller/provision/trial_figures.hpp"

using namespace wattle::controller;

namespace {

// A service with known latency, and the excess cost of its minutes with and without the student.
struct Service {
  std::string name = "n/a.service";
  double student_waste = 0.2, other_waste = 0.2, student_late = 0;
  std::mt19937_64 random{7};
  bool students = false;
  std::size_t student_minutes = 0, minutes = 0;

  void play(StudentRelease& release, std::size_t count) {
    std::uniform_real_distribution<double> noise(-0.05, 0.05);
    for (std::size_t i = 0; i < count; ++i) {
      const TrialMinute ended{(students ? student_waste : other_waste) + noise(random), students ? student_late : 0};
      students = release.next(name, ended).value_or(false);
      student_minutes += students;
      ++minutes;
    }
  }
  // Plays minutes until the state changes; returns false if it does not.
  bool play_on(StudentRelease& release, std::size_t most = 20'000) {
    const stats::NetworkState before = release.state();
    while (minutes < most && release.state() == before) play(release, 1);
    return release.state() != before;
  }
};

StudentRelease offered(TeacherMode mode = TeacherMode::canary) {
  StudentRelease release(mode, 1);
  CHECK(release.state() == stats::NetworkState::candidate);
  release.offer(1);
  CHECK(release.state() == stats::NetworkState::on_trial);
  return release;
}

}  // namespace

TEST_CASE("a student that costs as much as its teacher is used after a trial in a small share of the minutes") {
  for (const TeacherMode mode : {TeacherMode::canary, TeacherMode::live}) {
    StudentRelease release = offered(mode);
    Service service;
    CHECK(service.play_on(release));
    CHECK(release.state() == stats::NetworkState::in_use);
    CHECK(release.trial().test().blocks() >= 10);
    CHECK(service.student_minutes * 3 < service.minutes);
    const std::size_t before = service.student_minutes;
    service.play(release, 8000);
    CHECK(release.state() == stats::NetworkState::in_use);
    CHECK((service.student_minutes - before) * 12 < 8000);
    CHECK(release.withdrawn() == 0);
  }
}

TEST_CASE("a student of a wrong teacher costs more, is withdrawn, and is never used") {
  StudentRelease release = offered();
  Service service;
  service.student_waste = 0.4;
  CHECK(service.play_on(release));
  CHECK(release.state() == stats::NetworkState::withdrawn);
  CHECK(release.why().find("cost more than its teacher") != std::string::npos);
  CHECK(release.withdrawn() == 1);
  CHECK_FALSE(release.next(service.name, {0.2, 0}));
  release.offer(1);
  CHECK(release.state() == stats::NetworkState::withdrawn);
  release.offer(2);
  CHECK(release.state() == stats::NetworkState::on_trial);
  CHECK(release.trial().test().blocks() == 0);
}

TEST_CASE("a student in use whose reward falls below its teacher's is withdrawn") {
  StudentRelease release = offered();
  Service service;
  REQUIRE(service.play_on(release));
  REQUIRE(release.state() == stats::NetworkState::in_use);
  service.student_waste = 0.5;
  CHECK(service.play_on(release, 200'000));
  CHECK(release.state() == stats::NetworkState::withdrawn);
  CHECK(release.why().find("cost more") != std::string::npos);
}

TEST_CASE("a student that makes requests late is withdrawn within hours, whatever it saves") {
  StudentRelease release = offered();
  Service service;
  service.student_waste = 0;
  service.student_late = 0.04;  // of the requests, four times the target's limit
  CHECK(service.play_on(release, 500));
  CHECK(release.state() == stats::NetworkState::withdrawn);
  CHECK(release.why().find("over target") != std::string::npos);
}

TEST_CASE("a student is withdrawn when it is out of bounds in more than a fifth of the nodes' services") {
  StudentRelease release = offered();
  release.report("n1/x.service", true);  // of a former student
  CHECK(release.state() == stats::NetworkState::on_trial);
  Service service;
  REQUIRE(service.play_on(release));
  for (int i = 0; i < 10; ++i) release.report("n" + std::to_string(i) + "/x.service", false);
  release.report("n1/x.service", true);
  release.report("n2/x.service", true);
  CHECK(release.state() == stats::NetworkState::in_use);
  CHECK(release.out() == 2);
  release.report("n3/x.service", true);
  CHECK(release.state() == stats::NetworkState::withdrawn);
  CHECK(release.why().find("throttled") != std::string::npos);
}

TEST_CASE("in modes off and shadow the student steers no minute") {
  for (const TeacherMode mode : {TeacherMode::off, TeacherMode::shadow}) {
    StudentRelease release = offered(mode);
    Service service;
    service.play(release, 500);
    CHECK(service.student_minutes == 0);
    CHECK(release.state() == stats::NetworkState::on_trial);
  }
}

TEST_CASE("a restart keeps state, version, evidence and reason; an impossible state is refused") {
  StudentRelease release = offered();
  Service service;
  service.play(release, 400);
  const auto again = [&](TeacherMode mode) {
    Figures figures;
    add_figures(figures, release.saved());
    const auto state = release_of(figures);
    REQUIRE(state);
    StudentRelease other(mode, 1);
    CHECK(other.restore(*state));
    return other;
  };
  StudentRelease trial = again(TeacherMode::canary);
  CHECK(trial.state() == stats::NetworkState::on_trial);
  CHECK(trial.trial().test().blocks() == release.trial().test().blocks());
  CHECK(trial.trial().test().evidence() == release.trial().test().evidence());
  REQUIRE(service.play_on(release));
  StudentRelease used = again(TeacherMode::canary);
  CHECK(used.state() == stats::NetworkState::in_use);
  CHECK(used.version() == 1);
  for (int i = 0; i < 3; ++i) release.report("n/x.service", true);
  StudentRelease gone = again(TeacherMode::canary);
  CHECK(gone.state() == stats::NetworkState::withdrawn);
  CHECK(gone.why() == release.why());
  CHECK(gone.withdrawn() == 1);
  StudentRelease refuses(TeacherMode::canary, 1);
  CHECK_FALSE(refuses.restore({0, stats::NetworkState::in_use, WithdrawnFor::nothing, 0, {}}));
  CHECK(refuses.state() == stats::NetworkState::candidate);
  CHECK_FALSE(release_of({}));
}
