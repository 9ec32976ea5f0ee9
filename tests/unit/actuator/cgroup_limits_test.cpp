#include "actuator/cgroup_limits.hpp"

#include <doctest/doctest.h>

#include "kernel_tree.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

TEST_CASE("limits of both versions are parsed as numbers, and invalid ones are refused") {
  CHECK(parse_limit("max 100000\n") == kUnlimited);
  CHECK(parse_limit("-1\n") == kUnlimited);
  CHECK(parse_limit("50000 100000\n") == 50'000);
  CHECK(parse_limit("0\n") == 0);
  CHECK(parse_period_us("max 100000\n") == 100'000);
  for (const char* text : {"", "\n", "-2", "1 2 3", "x", "1e3", "99999999999999999999"}) CHECK_FALSE(parse_limit(text));
  for (const char* text : {"", "max", "max 0", "max x", "1 2 3"}) CHECK_FALSE(parse_period_us(text));
}

TEST_CASE("a cgroup is found only below the root, in the hierarchy that has the CPU controller") {
  for (const bool v2 : {true, false}) {
    const KernelTree tree(v2);
    tree.add("/pods/a", "max", "0", "max");
    KernelOs os;
    CgroupLimits limits(tree.mounts(), os);
    const auto target = limits.find("/pods/a");
    REQUIRE(target);
    CHECK(target->seam == (v2 ? Seam::cgroup2 : Seam::cgroup1));
    CHECK(*limits.period_us(*target) == 100'000);
    CHECK(limits.find("/pods/b").error().code == Errc::not_found);
    CHECK(limits.find("/pods").error().code == Errc::unsupported);
    for (const char* path : {"", "/", "/../x", "/pods/../../x", "/a\nb"})
      CHECK(limits.find(path).error().code == Errc::malformed);
    // memory.high and memory.low exist only in v2
    for (const Knob knob : {Knob::high_bytes, Knob::low_bytes}) {
      CHECK(limits.require(*target, knob).has_value() == v2);
      CHECK(limits.read(*target, knob).has_value() == v2);
      const auto wrote = limits.write(*target, knob, 8192);
      CHECK(wrote.has_value() == v2);
      if (v2) continue;
      CHECK(wrote.error().code == Errc::unsupported);
      for (const Error& why : {wrote.error(), limits.require(*target, knob).error()})
        CHECK(why.message().find("need cgroup v2") != std::string::npos);
    }
  }
}

TEST_CASE("a kernel without burst still has quotas") {
  const KernelTree tree;
  tree.add("/a", "max", "0", "max");
  std::filesystem::remove(tree.file("/a", Knob::burst_us));
  KernelOs os;
  CgroupLimits limits(tree.mounts(), os);
  const Target target = *limits.find("/a");
  CHECK(limits.read(target, Knob::burst_us).error().code == Errc::unsupported);
  CHECK(*limits.read(target, Knob::quota_us) == kUnlimited);
}

TEST_CASE("a value that the kernel refuses is reported with the written text") {
  const KernelTree tree;
  tree.add("/a", "20000", "0", "max");
  KernelOs os;
  CgroupLimits limits(tree.mounts(), os);
  const Target target = *limits.find("/a");
  const auto refused = limits.write(target, Knob::burst_us, 20'001);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::out_of_range);
  CHECK(refused.error().message().find("/a/cpu.max.burst") != std::string::npos);
  CHECK(limits.fitted(target, Knob::quota_us, 3) == kLeastQuota_us);
  CHECK(limits.fitted(target, Knob::high_bytes, 4'097) == 4'096);
}
