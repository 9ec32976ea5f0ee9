#include "agent/collect/cgroup_short.hpp"

#include <doctest/doctest.h>

#include <rapidcheck.h>
#include <filesystem>
#include <map>

#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using agent::test::Tree;

namespace {
const std::string kShortPod = "pod11111111-2222-3333-4444-000000000001";
const std::string kShortUid = "11111111-2222-3333-4444-000000000001";

struct Rig {
  Rig() : top(std::move(*Dir::open_(files.path()))), tree(CgroupTree::open_(std::move(*Dir::open_(files.path())), {})) {
    make("system.slice/old.service");
    make("kubepods");
    tree.refresh();
  }
  void make(const std::string& path) { std::filesystem::create_directories(files.path() + ("/" + path)); }
  std::uint64_t id(const std::string& path) const { return *top.inode_of(path); }
  Tree files;
  Dir top;
  CgroupTree tree;
};
constexpr std::uint64_t kFirst = 1ull << 60;  // not an inode of the rig
}  // namespace

TEST_CASE("a short-lived cgroup is a root by its name, below the nearest living cgroup") {
  Rig rig;
  const std::vector<EndedCgroup> ended{
      {kFirst + 3, kFirst + 2, "inner"},                       // below the pod
      {kFirst + 2, rig.id("kubepods"), kShortPod},             // the pod
      {kFirst + 4, rig.id("system.slice"), "brief.service"},   // a unit
      {kFirst + 6, kFirst + 5, "late.service"},                // a unit below a slice that also ended
      {kFirst + 5, rig.id("system.slice"), "system-a.slice"},  //
      {kFirst + 7, rig.id("system.slice/old.service"), "x"},   // of a living root
      {kFirst + 8, kFirst + 99, "lost.service"},               // its parent is unknown
      {rig.id("system.slice/old.service"), rig.id("system.slice"), "old.service"},  // still in the tree
  };
  const auto found = find_short_lived(rig.tree, ended);
  std::map<std::string, const ShortLived*> by_path;
  for (const auto& one : found) by_path[one.path] = &one;
  REQUIRE(by_path.size() == 3);
  const auto* pod = by_path["/kubepods/" + kShortPod];
  REQUIRE(pod != nullptr);
  CHECK(pod->identity == Identity{WorkloadKind::pod, kShortUid, ""});
  CHECK(pod->id == kFirst + 2);
  CHECK(pod->members == std::vector{kFirst + 3, kFirst + 2});
  CHECK(pod->anchor->path == "/kubepods");
  REQUIRE(by_path["/system.slice/brief.service"] != nullptr);
  CHECK(by_path["/system.slice/brief.service"]->anchor->path == "/system.slice");
  REQUIRE(by_path["/system.slice/system-a.slice/late.service"] != nullptr);
  CHECK(by_path["/system.slice/system-a.slice/late.service"]->anchor->path == "/system.slice");
}

TEST_CASE("a cgroup that the tree has dropped is not short-lived, and neither is one below it") {
  Rig rig;
  const auto old = rig.id("system.slice/old.service");
  std::filesystem::remove(rig.files.path() + std::string("/system.slice/old.service"));
  REQUIRE(rig.tree.refresh());
  const std::vector<EndedCgroup> ended{{kFirst, old, "x"}, {old, rig.id("system.slice"), "old.service"}};
  CHECK(find_short_lived(rig.tree, ended).empty());
  rig.tree.refresh();  // the removal may be reported late
  CHECK(find_short_lived(rig.tree, std::vector<EndedCgroup>{{old, rig.id("system.slice"), "old.service"}}).empty());
}

TEST_CASE("short-lived cgroups get their time on CPU, and together at most what is left") {
  CHECK(rc::check([](const std::vector<std::uint32_t>& used_us, std::uint32_t left_us) {
    std::vector<ShortLived> below(used_us.size());
    for (std::size_t i = 0; i < below.size(); ++i) below[i].members = {i};
    ShortLivedSources sources;
    sources.on_cpu_ns = [&](std::uint64_t id) { return std::optional(1000ull * used_us[id]); };
    const auto given = settle_short_lived(below, left_us, false, sources);
    std::uint64_t sum = 0, wanted = 0;
    for (std::size_t i = 0; i < below.size(); ++i) {
      sum += below[i].usage_us.value();
      wanted += used_us[i];
    }
    RC_ASSERT(given == sum);
    RC_ASSERT(sum == std::min<std::uint64_t>(left_us, wanted));
    if (wanted <= left_us)
      for (std::size_t i = 0; i < below.size(); ++i) RC_ASSERT(*below[i].usage_us == used_us[i]);
  }));
}

TEST_CASE("without a count of time on CPU, a single one gets what is left, and several get nothing") {
  std::vector<ShortLived> one(1), two(2);
  CHECK(settle_short_lived(one, 500, true, {}) == 500);
  CHECK(one[0].usage_us == 500);
  CHECK(settle_short_lived(two, 500, true, {}) == 0);
  CHECK_FALSE(two[0].usage_us.has_value());
  std::vector<ShortLived> beside_dead(1);
  CHECK(settle_short_lived(beside_dead, 500, false, {}) == 0);
  CHECK_FALSE(beside_dead[0].usage_us.has_value());
}
