#include "actuator/config.hpp"

#include <doctest/doctest.h>

using namespace wattle;
using namespace wattle::actuator;

TEST_CASE("units and cgroups are listed with a level, suggest by default") {
  const auto config = parse_config(
      "workloads:\n  - {unit: a.service, level: limits}\n  - {cgroup: /jobs/b c}\n  - {unit: c.service, "
      "level: protect}\nrules: {throttled: 0.01, memory: false}\n",
      "f");
  REQUIRE(config);
  REQUIRE(config->workloads.size() == 3);
  CHECK(config->workloads[0] == actuation::Order{"/system.slice/a.service", actuation::Level::limits});
  CHECK(config->workloads[1] == actuation::Order{"/jobs/b c", actuation::Level::suggest});
  CHECK(config->workloads[2] == actuation::Order{"/system.slice/c.service", actuation::Level::protect});
  CHECK(config->rules.throttled_aim_ratio == 0.01);
  CHECK_FALSE(config->rules.memory);
  CHECK(parse_config("{}", "f")->student_of_agent());
  CHECK(parse_config("rules: {student: ''}", "f")->student_file.empty());
  CHECK(parse_config("rules: {student: /etc/s.safetensors}", "f")->student_file == "/etc/s.safetensors");
}

TEST_CASE("every error of a configuration is reported with its key") {
  for (const auto& mistake : std::initializer_list<std::pair<const char*, const char*>>{
           {"workloads: [{level: limits}]", "unit"},
           {"workloads: [{unit: a.service, cgroup: /a}]", "unit"},
           {"workloads: [{unit: a/b}]", "unit"},
           {"workloads: [{cgroup: a}]", "cgroup"},
           {"workloads: [{cgroup: /}]", "cgroup"},
           {"workloads: [{cgroup: /a/../b}]", "cgroup"},
           {"workloads: [{cgroup: /a/..}]", "cgroup"},
           {"workloads: [{cgroup: //}]", "cgroup"},
           {"workloads: [{cgroup: /a}, {cgroup: /a}]", "is a duplicate"},
           {"workloads: [{cgroup: /a/b}, {cgroup: /a/b/}]", "is a duplicate"},
           {"workloads: [{cgroup: /a/b}, {cgroup: //a//b}]", "is a duplicate"},
           {"workloads: [{cgroup: /a/./b}, {cgroup: /a/b/.}]", "is a duplicate"},
           {"workloads: [{unit: a.service}, {cgroup: /system.slice//a.service}]", "is a duplicate"},
           {"workloads: [{cgroup: /a, level: requests}]", "level"},
           {"rules: {throttled: -1}", "throttled"},
           {"rules: {margin: 0.2}", "margin: unknown key"},
           {"rules: {student: [a]}", "student"},
           {"state_dir: ''", "state_dir"},
           {"sockets: x", "sockets"}}) {
    INFO(mistake.first);
    const auto config = parse_config(mistake.first, "f");
    REQUIRE_FALSE(config);
    CHECK(config.error().message().find(mistake.second) != std::string::npos);
  }
}
