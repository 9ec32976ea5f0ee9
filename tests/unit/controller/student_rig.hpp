// student_rig: a controller's teacher and learner with services, minute by minute, without sockets.
#pragma once

#include <doctest/doctest.h>

#include "common/base64.hpp"
#include "controller/provision/margin_teacher.hpp"
#include "controller/trainer/make_network.hpp"
#include "tests/unit/controller/helpers.hpp"

namespace wattle::controller::test {

// A throttled service that more cores would help, although its requests are in time.
struct Path {
  explicit Path(const std::string& dir) {
    MarginLearnerOptions options;
    options.warmup = 1'000'000;  // the rule remains the teacher
    options.student.warmup = 60;
    options.student.batch = 16;
    options.student.steps = 150;
    options.student.judge_every = 20;
    options.student.least_held_out = 20;
    auto made = MarginLearner::make(
        options, dir, [] { return make_provisioning_network(1); }, clock, log);
    REQUIRE(made);
    learner = std::move(*made);
    teacher.emplace(TeacherMode::canary, 1, learner.get(), clock);
  }
  void minute(const std::string& node, const std::string& name, bool known, bool fails = false) {
    LimitMinute& reported = last[{node, name}];
    const auto steps = teacher->margins(node);
    const auto step = steps.find(name);
    ++reported.number;
    reported.name = name;
    reported.steered = step != steps.end() && step->second.minute + 1 == reported.number;
    reported.margin_ratio = reported.steered ? step->second.margin_ratio : reported.rule_margin_ratio;
    reported.rule_margin_ratio = std::max(-0.1, reported.margin_ratio - 0.03);
    // Changing load raises the rule's margin now and then.
    if (reported.number % 20 == 0) reported.rule_margin_ratio = 0.3;
    reported.throttled_ratio = 0.1;
    reported.used_cores = 0.5;
    reported.granted_cores = 0.5 * (1.1 + reported.margin_ratio);
    reported.student_out = fails;
    if (known) {
      reported.requests = 6000;
      reported.requests_over = reported.steered ? late : 0;
    }
    teacher->minute(node, 4, reported);
    learner->turn();
  }
  // Runs minutes until the release has that state; returns false if it never does.
  bool live_until(stats::NetworkState stage, std::uint64_t version, int most = 8000) {
    for (int i = 0; i < most; ++i) {
      if (teacher->release().state() == stage && teacher->release().version() == version) return true;
      clock.advance(std::chrono::seconds(60));
      minute("n1", "a.service", true);
      for (const std::string& node : blind) minute(node, "b.service", false, out);
    }
    return false;
  }

  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  Log log = Log::silent();
  std::unique_ptr<MarginLearner> learner;
  std::optional<MarginTeacher> teacher;
  std::map<std::pair<std::string, std::string>, LimitMinute> last;
  std::vector<std::string> blind;  // nodes with a service without known latency
  std::uint64_t late = 0;          // late requests per steered minute
  bool out = false;                // what these nodes report about their student
};

inline bool has_torch() { return make_provisioning_network(1).has_value(); }

inline std::string file_of(const Student& student) {
  std::string text;
  for (const std::string& part : student.parts) text += part;
  return base64_decode(text).value();
}

}  // namespace wattle::controller::test
