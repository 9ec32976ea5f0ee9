// cgroup_path: normalises the path of a cgroup relative to its mount, so that configuration, orders and counts use one
// name.
// Gives    "/a/b" for "/a/b/", "//a///b", "/a/./b" and "a/b"; "/" for the root;
//          no value for an empty path and for one that contains "..", a NUL or a newline
// Threads  pure
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wattle {

std::optional<std::string> normal_cgroup_path(std::string_view path);

}  // namespace wattle
