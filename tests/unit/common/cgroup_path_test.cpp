#include "common/cgroup_path.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using wattle::normal_cgroup_path;

TEST_CASE("every spelling of a cgroup path has one normal form, which is stable") {
  CHECK(rc::check([] {
    const auto names = *rc::gen::container<std::vector<std::string>>(
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab. \\x2d:_")))));
    std::string plain, spelled;
    for (const std::string& name : names) {
      if (name == "." || name == "..") continue;
      plain += "/" + name;
      spelled += *rc::gen::elementOf(std::vector<std::string>{"/", "//", "/./", "/.//./"}) + name;
    }
    if (plain.empty()) plain = "/";
    spelled += *rc::gen::elementOf(std::vector<std::string>{"/", "", "/.", "//"});
    if (!spelled.empty()) RC_ASSERT(normal_cgroup_path(spelled) == plain);
    RC_ASSERT(normal_cgroup_path(plain) == plain);
    RC_ASSERT(!normal_cgroup_path(spelled + "/../b"));
  }));
}

TEST_CASE("an invalid cgroup path has no normal form") {
  for (const std::string_view path : {"", "..", "/..", "/a/..", "/a/../b", "/a\nb"})
    CHECK_FALSE(normal_cgroup_path(path));
  CHECK_FALSE(normal_cgroup_path(std::string_view("/a\0b", 4)));
  CHECK(normal_cgroup_path("a/b") == "/a/b");
  CHECK(normal_cgroup_path("///") == "/");
  CHECK(normal_cgroup_path("/..a") == "/..a");
}
