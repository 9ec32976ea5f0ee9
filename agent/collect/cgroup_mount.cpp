#include "agent/collect/cgroup_mount.hpp"

#include <utility>

#include "agent/collect/identity.hpp"
#include "common/mounts.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

Result<Dir> open_cgroup_root(const Roots& roots) {
  WATTLE_TRY(const Dir proc, Dir::open_(roots.proc));
  std::optional<Error> last;
  for (const char* table : {"self/mountinfo", "1/mountinfo"}) {
    const bool own = std::string_view(table).starts_with("self");
    // A host's /proc in a container: `self` would list the container's mounts.
    if (!roots.own_proc() && !roots.captured && own && proc.exists("1/mountinfo")) continue;
    auto text = proc.read_file(table);
    if (!text) {
      if (!last) last = std::move(text.error());
      continue;
    }
    for (const auto& mount : parse_mountinfo(*text, "cgroup2")) {
      auto dir = Dir::open_(roots.resolve(mount.point));
      if (dir) return dir;
      last = std::move(dir.error());
    }
  }
  if (last) {
    if (last->fix.empty()) last->fix = "make the host's cgroup2 mount visible below " + roots.sys;
    return tl::unexpected<Error>(std::move(*last));
  }
  return fail(Errc::not_found, roots.proc + "/self/mountinfo", "no cgroup2 file system is mounted",
              "mount one: mount -t cgroup2 none /sys/fs/cgroup/unified");
}

namespace {

std::vector<Mount> v1_mounts(const Roots& roots) {
  const auto proc = Dir::open_(roots.proc);
  if (!proc) return {};
  for (const char* table : {"self/mountinfo", "1/mountinfo"}) {
    const bool own = std::string_view(table).starts_with("self");
    if (!roots.own_proc() && !roots.captured && own && proc->exists("1/mountinfo")) continue;
    const auto text = proc->read_file(table);
    if (!text) continue;
    if (auto mounts = parse_mountinfo(*text, "cgroup"); !mounts.empty()) return mounts;
  }
  return {};
}

}  // namespace

std::optional<Dir> open_v1_root(const Roots& roots, std::string_view controller) {
  for (const Mount& mount : v1_mounts(roots))
    for (const std::string_view option : parse::split(mount.options, ','))
      if (option == controller)
        if (auto dir = Dir::open_(roots.resolve(mount.point))) return std::move(*dir);
  return std::nullopt;
}

namespace {

// Returns the path of the cgroup of a pod that has processes. Looks at most kMostLevels deep: a kubelet in a container
// has its pods at docker/ID/kubelet/kubepods/burstable.
template <typename HasProcesses>
std::optional<std::string> pod_in(const Dir& hierarchy, const HasProcesses& has_processes, const std::string& path = {},
                                  int level = 0) {
  constexpr int kMostLevels = 6;
  const auto entries = hierarchy.list();
  if (!entries) return std::nullopt;
  for (const auto& entry : *entries) {
    if (!entry.is_dir) continue;
    const std::string below = path + "/" + entry.name;
    if (const auto owner = identify(below); owner && owner->kind == WorkloadKind::pod) {
      if (has_processes(below)) return below;
      continue;
    }
    const auto dir =
        level + 1 < kMostLevels ? hierarchy.open_dir(entry.name) : Result<Dir>(fail(Errc::not_found, "", ""));
    if (!dir) continue;
    if (auto found = pod_in(*dir, has_processes, below, level + 1)) return found;
  }
  return std::nullopt;
}

// A pod without processes is one that has ended and whose cgroups were left behind. Reads counts that do not depend on
// this process's PID namespace, as cgroup.procs does. A pod whose count cannot be read has processes.
std::optional<std::string> v1_pod_in(const Dir& v1, const Roots& roots) {
  const auto pids = open_v1_root(roots, "pids");
  return pod_in(v1, [&](const std::string& path) {
    const auto count = pids ? pids->read_file(path.substr(1) + "/pids.current") : fail(Errc::not_found, "", "");
    return !count || parse::u64(parse::trim(*count)) != 0U;
  });
}

bool v2_has_pods(const Dir& v2) {
  const auto populated = [&](const std::string& path) {
    const auto events = v2.read_file(path.substr(1) + "/cgroup.events");
    return !events || !events->starts_with("populated 0");
  };
  return pod_in(v2, populated).has_value();
}

std::optional<Dir> open_v1_top(const Roots& roots) {
  for (const char* controller : {"cpuacct", "memory", "pids", "blkio", "cpu"})
    if (auto dir = open_v1_root(roots, controller)) return dir;
  return std::nullopt;
}

}  // namespace

std::optional<CgroupTop> open_v1_pods(const Roots& roots) {
  auto v1 = open_v1_top(roots);
  auto pod = v1 ? v1_pod_in(*v1, roots) : std::nullopt;
  if (!pod) return std::nullopt;
  // Looks at v2 last: a runtime that uses both creates the cgroup of v1 first.
  if (const auto v2 = open_cgroup_root(roots); v2 && v2_has_pods(*v2)) return std::nullopt;
  return CgroupTop{std::move(*v1), true, std::move(pod)};
}

Result<CgroupTop> open_cgroup_top(const Roots& roots) {
  if (auto v1 = open_v1_pods(roots)) return std::move(*v1);
  auto v2 = open_cgroup_root(roots);
  if (v2) return CgroupTop{std::move(*v2), false, {}};
  if (auto v1 = open_v1_top(roots)) return CgroupTop{std::move(*v1), true, {}};
  return forward_error(v2);
}

}  // namespace wattle::agent
