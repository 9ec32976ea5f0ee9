#include "agent/collect/cgroup_mount.hpp"

#include <utility>

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

std::vector<Dir> open_v1_roots(const Roots& roots) {
  std::vector<Dir> out;
  for (const Mount& mount : v1_mounts(roots))
    if (auto dir = Dir::open_(roots.resolve(mount.point))) out.push_back(std::move(*dir));
  return out;
}

std::optional<Dir> open_v1_root(const Roots& roots, std::string_view controller) {
  for (const Mount& mount : v1_mounts(roots))
    for (const std::string_view option : parse::split(mount.options, ','))
      if (option == controller)
        if (auto dir = Dir::open_(roots.resolve(mount.point))) return std::move(*dir);
  return std::nullopt;
}

}  // namespace wattle::agent
