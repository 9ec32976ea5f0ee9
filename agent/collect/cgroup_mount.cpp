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

// Returns the path of a pod's cgroup in a hierarchy. Looks at most kMostLevels deep: a kubelet in a container has its
// pods at docker/ID/kubelet/kubepods/burstable.
std::optional<std::string> pod_in(const Dir& hierarchy, const std::string& path = {}, int level = 0) {
  constexpr int kMostLevels = 6;
  const auto entries = hierarchy.list();
  if (!entries) return std::nullopt;
  for (const auto& entry : *entries) {
    if (!entry.is_dir) continue;
    const std::string below = path + "/" + entry.name;
    if (const auto owner = identify(below); owner && owner->kind == WorkloadKind::pod) return below;
    const auto dir =
        level + 1 < kMostLevels ? hierarchy.open_dir(entry.name) : Result<Dir>(fail(Errc::not_found, "", ""));
    if (!dir) continue;
    if (auto found = pod_in(*dir, below, level + 1)) return found;
  }
  return std::nullopt;
}

std::optional<Dir> open_v1_top(const Roots& roots) {
  for (const char* controller : {"cpuacct", "memory", "pids", "blkio", "cpu"})
    if (auto dir = open_v1_root(roots, controller)) return dir;
  return std::nullopt;
}

}  // namespace

std::optional<CgroupTop> open_v1_pods(const Roots& roots) {
  auto v1 = open_v1_top(roots);
  auto pod = v1 ? pod_in(*v1) : std::nullopt;
  if (!pod) return std::nullopt;
  // Looks at v2 last: a runtime that uses both creates the cgroup of v1 first.
  if (const auto v2 = open_cgroup_root(roots); v2 && pod_in(*v2)) return std::nullopt;
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
