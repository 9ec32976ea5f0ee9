#include "actuator/doctor.hpp"

#include <unistd.h>

#include "actuator/unit_bus.hpp"
#include "actuator/unit_limits.hpp"
#include "provision/minute/student_file.hpp"

namespace wattle::actuator {

namespace {
constexpr std::chrono::seconds kDoctorPatience(5);

Finding cpu_finding(const CgroupLimits& cgroups) {
  const auto& mounts = cgroups.mounts();
  if (mounts.v2) {
    const auto controllers = mounts.v2->read_file("cgroup.controllers");
    if (controllers && (" " + *controllers).find(" cpu") != std::string::npos)
      return {"cpu", true, true, "cgroup v2: cpu.max and cpu.max.burst at " + mounts.v2->path()};
  }
  if (mounts.cpu)
    return {"cpu", true, true,
            "cgroup v1: cpu.cfs_quota_us at " + mounts.cpu->path() + "; memory.high and memory.low need v2"};
  return {"cpu", false, true, "no hierarchy has the CPU controller (mount cgroup2 with it)"};
}

Finding kubelet_finding(const CgroupMounts& mounts) {
  for (const char* name : {"kubepods", "kubepods.slice"})
    for (const auto* mount : {&mounts.v2, &mounts.cpu})
      if (*mount && (*mount)->exists(name))
        return {
            "kubernetes", false, false,
            "a kubelet owns the cgroups below " + std::string(name) +
                ": level `limits` on its pods is unsupported, because only the kubelet may manage them. Pods annotated "
                "`wattle.dev/provision: limits` get it if the agent has `provisioning.pod_limits: true`; use "
                "`suggest`"};
  return {"kubernetes", true, false, "no kubelet owns cgroups here"};
}

// Queries -.slice, which exists on every systemd machine.
Finding systemd_finding(const Machine& machine, UnitManager& systemd) {
  if (!machine.has_systemd())
    return {"systemd", true, false,
            "systemd does not run on this machine: the actuator writes to the files of cgroups"};
  const auto quota = systemd.read("-.slice", UnitProperty::quota);
  if (!quota) return {"systemd", false, false, "level `limits` is not available for units: " + quota.error().message()};
  return {"systemd", true, false, "sets limits of units over D-Bus, in whole percents of a core"};
}

// Describes memory.low, and the ancestor with the smallest value, which limits it.
std::string protection_found(const CgroupLimits& cgroups, const Target& cgroup, std::int64_t low_bytes) {
  std::string text = ", memory.low " + (low_bytes == kUnlimited ? "max" : std::to_string(low_bytes));
  const auto above = cgroups.protection_above(cgroup);
  if (!above || above->bytes == kUnlimited) return text;
  return text + " (" + above->path + " lets " + std::to_string(above->bytes) + " through)";
}

Finding protected_finding(CgroupLimits& cgroups, UnitLimits& limits, const actuation::Order& order) {
  const auto cgroup = cgroups.find(order.path);
  if (!cgroup) return {order.path, false, false, "protect: " + cgroup.error().message()};
  if (const auto can = cgroups.require(*cgroup, Knob::low_bytes); !can)
    return {order.path, false, false, "protect: " + can.error().message()};
  const auto target = limits.find(order.path);
  if (!target) return {order.path, false, false, "protect: " + target.error().message()};
  const auto low = limits.read(*target, Knob::low_bytes, std::nullopt);
  if (!low) return {order.path, false, false, "protect: " + low.error().message()};
  const std::string how = target->seam == Seam::unit ? "protect through systemd" : "protect";
  return {order.path, true, false, how + protection_found(cgroups, *cgroup, *low)};
}

Finding workload_finding(CgroupLimits& cgroups, UnitLimits& limits, const actuation::Order& order) {
  if (order.level == actuation::Level::protect) return protected_finding(cgroups, limits, order);
  std::string level(actuation::kLevelNames[static_cast<std::size_t>(order.level)]);
  const auto target = limits.find(order.path);
  if (!target) return {order.path, false, false, level + ": " + target.error().message()};
  if (target->seam == Seam::unit) level += " through systemd";
  const auto quota = limits.read(*target, Knob::quota_us, std::nullopt);
  if (!quota) return {order.path, false, false, level + ": " + quota.error().message()};
  const auto burst = limits.read(*target, Knob::burst_us, std::nullopt);
  const auto high = limits.read(*target, Knob::high_bytes, std::nullopt);
  return {order.path, true, false,
          level + ": quota " + (*quota == kUnlimited ? "max" : std::to_string(*quota) + " us") +
              (burst ? ", burst " + std::to_string(*burst) + " us" : ", no burst in this kernel") +
              (high ? std::string(", memory.high ") + (*high == kUnlimited ? "max" : std::to_string(*high)) : "")};
}
}  // namespace

std::vector<Finding> examine(const ActuatorConfig& config, const Machine& machine) {
  std::vector<Finding> out;
  auto mounts = CgroupMounts::open_(machine.prefix);
  if (!mounts) {
    out.push_back({"cpu", false, true, mounts.error().message()});
    return out;
  }
  Os os;
  CgroupLimits cgroups(std::move(*mounts), os);
  UnitBus bus(bus_address(machine.bus_socket()), kDoctorPatience);
  UnitLimits limits(cgroups, machine.has_systemd() ? &bus : nullptr, machine.control_dir());
  out.push_back(cpu_finding(cgroups));
  out.push_back(systemd_finding(machine, bus));
  if (const auto made = make_dirs(config.state_dir, 0750); !made)
    out.push_back({"state_dir", false, true, made.error().message()});
  else
    out.push_back({"state_dir", ::access(config.state_dir.c_str(), W_OK) == 0, true,
                   config.state_dir + ": records the original limits before the first write"});
  if (const auto damage = record_damage(config, machine)) out.push_back({"record", false, true, damage->message()});
  out.push_back(kubelet_finding(cgroups.mounts()));
  if (!config.student_file.empty()) {
    const auto student = models::provision::read_student(config.student_file);
    const bool none = !student && config.student_of_agent() && student.error().code == Errc::not_found;
    out.push_back({"student", student.has_value() || none, false,
                   none      ? "the controller has sent none"
                   : student ? config.student_file + ": sets margins of workloads with unknown response times"
                             : student.error().message()});
  }
  for (const auto& order : config.workloads) out.push_back(workload_finding(cgroups, limits, order));
  return out;
}

}  // namespace wattle::actuator
