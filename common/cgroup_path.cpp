#include "common/cgroup_path.hpp"

#include "common/parse.hpp"

namespace wattle {

std::optional<std::string> normal_cgroup_path(std::string_view path) {
  if (path.empty() || path.find('\n') != path.npos || path.find('\0') != path.npos) return std::nullopt;
  std::string out;
  for (const std::string_view part : parse::split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return std::nullopt;
    out += "/";
    out += part;
  }
  return out.empty() ? "/" : out;
}

}  // namespace wattle
