#include "common/mounts.hpp"

#include <doctest/doctest.h>

using namespace wattle;

TEST_CASE("the cgroup2 mount is found on hybrid and pure machines, and a partial view is the last choice") {
  const std::string_view table =
      "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:5 master:1 - cgroup2 cgroup2 rw\n";
  const auto hybrid = parse_mountinfo(table, "cgroup2");
  REQUIRE(hybrid.size() == 1);
  CHECK(hybrid[0].point == "/sys/fs/cgroup/unified");
  const auto v1 = parse_mountinfo(table, "cgroup");
  REQUIRE(v1.size() == 1);
  CHECK(v1[0].options == "rw,memory");
  const auto two = parse_mountinfo(
      "1 2 0:3 /../.. /a rw - cgroup2 cgroup2 rw\n4 2 0:3 / /b\\040c rw - cgroup2 cgroup2 rw\n", "cgroup2");
  REQUIRE(two.size() == 2);
  CHECK(two[0].point == "/b c");
  for (const char* garbage : {"", "\n\n", "- cgroup2", "1 2 3 4 5 6 -", "a b c d e f - ext4 x y"})
    CHECK(parse_mountinfo(garbage, "cgroup2").empty());
}
