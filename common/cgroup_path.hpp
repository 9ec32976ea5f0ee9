// Normalises the path of a cgroup below its mount, so that one cgroup has one name wherever it is configured, ordered or counted.
// Gives    "/a/b" for "/a/b/", "//a///b", "/a/./b" and "a/b"; "/" for the root
//          no value for an empty path, for one with ".." and for one with a NUL or an end of line
// Threads  pure
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wattle {

std::optional<std::string> normal_cgroup_path(std::string_view path);

}  // namespace wattle
