#include "agent/collect/cgroup_mount.hpp"

#include <optional>
#include <string_view>

#include "common/mounts.hpp"

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
    if (last->mend.empty()) last->mend = "make the host's cgroup2 mount visible below " + roots.sys;
    return tl::unexpected<Error>(std::move(*last));
  }
  return fail(Errc::not_found, roots.proc + "/self/mountinfo", "no cgroup2 file system is mounted",
              "mount one: mount -t cgroup2 none /sys/fs/cgroup/unified");
}

std::vector<Dir> open_v1_roots(const Roots& roots) {
  std::vector<Dir> out;
  const auto proc = Dir::open_(roots.proc);
  if (!proc) return out;
  for (const char* table : {"self/mountinfo", "1/mountinfo"}) {
    const auto text = proc->read_file(table);
    if (!text) continue;
    for (const auto& mount : parse_mountinfo(*text, "cgroup"))
      if (auto dir = Dir::open_(roots.resolve(mount.point))) out.push_back(std::move(*dir));
    if (!out.empty()) break;
  }
  return out;
}

}  // namespace wattle::agent
