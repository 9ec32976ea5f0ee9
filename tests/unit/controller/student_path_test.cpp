// The student's whole path in a controller: lessons of live minutes, training, trial, nodes, withdrawal and the next
// student. Uses the real network; without libtorch there is nothing to train.
#include <doctest/doctest.h>

#include "provision/minute/student_file.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/student_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

TEST_CASE(
    "a student is trained from live minutes, tried, sent to nodes, kept over a restart, and replaced when withdrawn") {
  if (!has_torch()) return;
  const wattle::test::TempDir dir;
  std::string sent;
  {
    Path path(dir.path());
    CHECK(path.teacher->release().state() == stats::NetworkState::candidate);
    REQUIRE(path.live_until(stats::NetworkState::on_trial, 1));
    const auto trained = path.learner->student();
    REQUIRE(trained);
    CHECK(trained->agreement.student >= 0.75);
    CHECK(trained->agreement.student > trained->agreement.rule + 0.2);
    CHECK_FALSE(path.teacher->student("n1"));  // not before its trial
    path.blind = {"n2", "n3"};
    REQUIRE(path.live_until(stats::NetworkState::in_use, 1));
    const auto one = path.teacher->student("n2"), other = path.teacher->student("n3");
    REQUIRE(one);
    REQUIRE(other);
    CHECK(one->parts == other->parts);
    CHECK_FALSE(path.teacher->student("n4"));  // has no service
    sent = file_of(*one);
    CHECK(models::provision::parse_student(sent, "student"));
    path.learner->save();
  }
  Path again(dir.path());
  CHECK(again.teacher->release().state() == stats::NetworkState::in_use);
  again.blind = {"n2"};
  again.live_until(stats::NetworkState::withdrawn, 1, 2);
  REQUIRE(again.teacher->student("n2"));
  CHECK(file_of(*again.teacher->student("n2")) == sent);
  again.out = true;
  REQUIRE(again.live_until(stats::NetworkState::withdrawn, 1, 3));
  CHECK_FALSE(again.teacher->student("n2"));
  again.blind.clear();
  REQUIRE(again.live_until(stats::NetworkState::on_trial, 2));
  CHECK(again.learner->student()->version == 2);
  CHECK(again.teacher->release().withdrawn() == 1);
}

TEST_CASE("a student with late requests is withdrawn, and the next one is trained from newer minutes") {
  if (!has_torch()) return;
  const wattle::test::TempDir dir;
  Path path(dir.path());
  REQUIRE(path.live_until(stats::NetworkState::on_trial, 1));
  const auto lessons = path.learner->student()->agreement.lessons;
  CHECK(lessons >= 20);
  path.late = 240;  // one in 25
  REQUIRE(path.live_until(stats::NetworkState::withdrawn, 1));
  CHECK(path.teacher->release().why().find("over target") != std::string::npos);
  path.late = 0;
  path.live_until(stats::NetworkState::on_trial, 2, 1);
  CHECK_FALSE(path.learner->student());
  CHECK(path.learner->figures().lessons < 5);  // none of the former student's lessons
  {
    path.learner->save();
    Path again(dir.path());  // a withdrawn student stays withdrawn over a restart
    CHECK(again.teacher->release().state() == stats::NetworkState::withdrawn);
    CHECK_FALSE(again.learner->student());
    REQUIRE(again.live_until(stats::NetworkState::on_trial, 2));
  }
}

TEST_CASE("in mode shadow a student is trained, but not tried and not sent") {
  if (!has_torch()) return;
  const wattle::test::TempDir dir;
  Path path(dir.path());
  path.teacher.emplace(TeacherMode::shadow, 1, path.learner.get(), path.clock);
  REQUIRE(path.live_until(stats::NetworkState::on_trial, 1));
  CHECK_FALSE(path.live_until(stats::NetworkState::in_use, 1, 300));
  CHECK(path.teacher->margins("n1").empty());
  CHECK_FALSE(path.teacher->student("n1"));
}
