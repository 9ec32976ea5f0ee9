#include "actuator/config.hpp"

#include <set>

#include "common/cgroup_path.hpp"
#include "common/program_config.hpp"

namespace wattle::actuator {

namespace {
actuation::Order read_workload(config::Section& section) {
  static const std::vector<std::string_view> kLevels(actuation::kLevelNames.begin(), actuation::kLevelNames.end());
  actuation::Order order;
  std::string unit;
  section.read("unit", unit);
  section.read("cgroup", order.path);
  if (unit.empty() == order.path.empty())
    section.mistake("unit", "needs exactly one of unit and cgroup",
                    "set either a unit of system.slice or the path of a cgroup");
  if (unit.find('/') != std::string::npos)
    section.mistake("unit", "'" + unit + "' is not a unit", "for example nginx.service; set a path as `cgroup`");
  if (!order.path.empty()) {
    const auto normal = normal_cgroup_path(order.path);
    if (!normal || *normal == "/" || order.path.front() != '/' || normal->size() > actuation::kMaxPathBytes)
      section.mistake("cgroup", "'" + order.path + "' is not a path",
                      "for example /system.slice/nginx.service, below the mount, without '..'");
    else
      order.path = *normal;
  }
  if (!unit.empty()) order.path = "/system.slice/" + unit;
  config::read_enum(section, "level", order.level, kLevels);
  return order;
}

Result<ActuatorConfig> read(config::Document document) {
  ActuatorConfig out;
  config::Section root = document.root();
  root.read("state_dir", out.state_dir);
  root.read("socket", out.socket);
  if (out.state_dir.empty())
    root.mistake("state_dir", "empty", "set a folder: without it the actuator cannot restore limits");
  if (out.socket.size() > 107) root.mistake("socket", "longer than 107 bytes", "choose a shorter path");
  std::set<std::string> paths;
  for (auto& section : root.sections("workloads")) {
    auto order = read_workload(section);
    if (!order.path.empty() && !paths.insert(order.path).second)
      section.mistake("level", "'" + order.path + "' is a duplicate", "remove one");
    out.workloads.push_back(std::move(order));
  }
  if (out.workloads.size() > actuation::kMaxWorkloads)
    root.mistake("workloads", "more than " + std::to_string(actuation::kMaxWorkloads), "remove some");

  config::Section rules = root.section("rules");
  rules.read("throttled", out.rules.throttled_aim_ratio, {.min = 0, .max = 1});
  rules.read("student", out.student_file);
  rules.read("memory", out.rules.memory);

  config::read_log_level(root, out.log_level);
  WATTLE_CHECK(document.finish());
  return out;
}
}  // namespace

Result<ActuatorConfig> load_config(const std::string& path) {
  return config::read_with(read, config::Document::load(path));
}

Result<ActuatorConfig> parse_config(const std::string& text, const std::string& name) {
  return config::read_with(read, config::Document::parse(text, name));
}

std::vector<config::Key> config_keys() { return config::keys_of(read, "{workloads: [{}]}"); }

}  // namespace wattle::actuator
