#include "agent/collect/cgroup_mount.hpp"

#include <algorithm>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
// Blank, tab, newline and backslash are written as \040 and so on.
std::string unescape_octal(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      const auto value = parse::integer<unsigned>(text.substr(i + 1, 3), 8);
      if (value && *value < 256) {
        plain.push_back(static_cast<char>(*value));
        i += 3;
        continue;
      }
    }
    plain.push_back(text[i]);
  }
  return plain;
}
}  // namespace

std::vector<Cgroup2Mount> parse_mountinfo(std::string_view text) {
  std::vector<Cgroup2Mount> mounts;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto fields = parse::fields(line);
    const auto separator = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || separator == fields.end() || separator + 1 == fields.end()) return;
    if (*(separator + 1) == "cgroup2") mounts.push_back({unescape_octal(fields[4]), unescape_octal(fields[3])});
  });
  std::stable_partition(mounts.begin(), mounts.end(), [](const auto& mount) { return mount.root == "/"; });
  return mounts;
}

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
    for (const auto& mount : parse_mountinfo(*text)) {
      auto dir = Dir::open_(roots.resolve(mount.mount_point));
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

}  // namespace wattle::agent
