#include "actuator/doctor.hpp"

#include <unistd.h>

#include "actuator/cgroup_limits.hpp"

namespace wattle::actuator {

namespace {
Finding cpu_finding(CgroupLimits& limits) {
  const auto& mounts = limits.mounts();
  if (mounts.v2) {
    const auto controllers = mounts.v2->read_file("cgroup.controllers");
    if (controllers && (" " + *controllers).find(" cpu") != std::string::npos)
      return {"cpu", true, true, "cgroup v2: cpu.max and cpu.max.burst at " + mounts.v2->path()};
  }
  if (mounts.cpu)
    return {"cpu", true, true, "cgroup v1: cpu.cfs_quota_us at " + mounts.cpu->path() + "; memory.high is of v2 alone"};
  return {"cpu", false, true, "no hierarchy has the CPU controller (mount cgroup2 with it)"};
}

Finding kubelet_finding(const CgroupMounts& mounts) {
  for (const char* name : {"kubepods", "kubepods.slice"})
    for (const auto* mount : {&mounts.v2, &mounts.cpu})
      if (*mount && (*mount)->exists(name))
        return {"kubernetes", false, false,
                "a kubelet owns the cgroups below " + std::string(name) +
                    ": level `limits` on its pods is unsupported (Kubernetes does not let others manage them); use "
                    "`suggest`"};
  return {"kubernetes", true, false, "no kubelet owns cgroups here"};
}

Finding workload_finding(CgroupLimits& limits, const actuation::Order& order) {
  const std::string level(actuation::kLevelNames[static_cast<std::size_t>(order.level)]);
  const auto target = limits.find(order.path);
  if (!target) return {order.path, false, false, level + ": " + target.error().message()};
  const auto quota = limits.read(*target, Knob::quota_us);
  if (!quota) return {order.path, false, false, level + ": " + quota.error().message()};
  const auto burst = limits.read(*target, Knob::burst_us);
  const auto high = limits.read(*target, Knob::high_bytes);
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
  CgroupLimits limits(std::move(*mounts), os);
  out.push_back(cpu_finding(limits));
  if (const auto made = make_dirs(config.state_dir, 0750); !made)
    out.push_back({"state_dir", false, true, made.error().message()});
  else
    out.push_back({"state_dir", ::access(config.state_dir.c_str(), W_OK) == 0, true,
                   config.state_dir + ": what was there is recorded here before the first write"});
  out.push_back(kubelet_finding(limits.mounts()));
  for (const auto& order : config.workloads) out.push_back(workload_finding(limits, order));
  return out;
}

}  // namespace wattle::actuator
