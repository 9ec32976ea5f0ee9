#include "agent/collect/cgroup_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using agent::test::Tree;

namespace {
const std::string kTreePod = "kubepods/pod11111111-2222-3333-4444-000000000001";

// Returns the records of a sweep over these directories: parents first, ids are inodes.
struct Sweep {
  explicit Sweep(const Tree& t) : tree(t), top(std::move(*Dir::open_(t.path()))) {}
  std::uint64_t id(const std::string& path) const { return *top.inode_of(path); }
  std::vector<cgroup_record> of(const std::vector<std::string>& paths) const {
    std::vector<cgroup_record> records(1);
    records[0].id = *top.inode();
    for (const auto& path : paths) {
      cgroup_record record{};
      const auto slash = path.rfind('/');
      record.id = id(path);
      record.parent = slash == std::string::npos ? records[0].id : id(path.substr(0, slash));
      record.level = static_cast<unsigned>(1 + std::count(path.begin(), path.end(), '/'));
      records.push_back(record);
    }
    return records;
  }
  const Tree& tree;
  Dir top;
};

void make(const Tree& tree, const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(tree.path()) / path);
}

CgroupTree open_tree(const Tree& tree, CgroupTreeOptions options = {}) {
  return CgroupTree::open_(std::move(*Dir::open_(tree.path())), std::move(options));
}

std::vector<std::string> paths_of(const CgroupTree& tree) {
  std::vector<std::string> paths;
  for (const CgroupNode* node : tree.order()) paths.push_back(node == nullptr ? "?" : node->path);
  return paths;
}
}  // namespace

TEST_CASE("a sweep's ids form the tree: names are read for new ones, and ended ones leave with their roots") {
  const Tree files;
  make(files, kTreePod + "/one");
  make(files, "system.slice/a\\x2db.service");
  const Sweep sweep(files);
  CgroupTree tree = open_tree(files);
  const std::vector<std::string> before{"kubepods", kTreePod, kTreePod + "/one", "system.slice",
                                        "system.slice/a\\x2db.service"};
  CHECK(tree.refresh(sweep.of(before)));
  CHECK(paths_of(tree) == std::vector<std::string>{"", "/kubepods", "/" + kTreePod, "/" + kTreePod + "/one",
                                                   "/system.slice", "/system.slice/a\\x2db.service"});
  CHECK(tree.order()[2]->is_root);
  CHECK_FALSE(tree.order()[3]->is_root);
  CHECK(tree.order()[5]->is_root);
  CHECK_FALSE(tree.order()[2]->born);  // existed at the start
  CHECK_FALSE(tree.refresh(sweep.of(before)));

  tree.order()[5]->root = std::make_unique<CgroupRoot>();
  const auto dead_id = sweep.id("system.slice/a\\x2db.service");
  make(files, "system.slice/new.service");
  const std::vector<std::string> after{"kubepods", kTreePod, "system.slice", "system.slice/new.service"};
  CHECK(tree.refresh(sweep.of(after)));
  CHECK(tree.size() == 5);
  const CgroupNode& slice = *tree.order()[3];
  REQUIRE(slice.dead.size() == 1);
  CHECK(slice.dead[0].id == dead_id);
  CHECK(slice.dead[0].path == "/system.slice/a\\x2db.service");
  CHECK(slice.dead[0].root != nullptr);
  CHECK(tree.order()[4]->born);
  CHECK_FALSE(tree.refresh(sweep.of(after)));
  CHECK(slice.dead.empty());
  CHECK_FALSE(tree.order()[4]->born);
}

TEST_CASE("a removed slice leaves its workload roots to the nearest remaining parent") {
  const Tree files;
  make(files, "user.slice/user-1.slice/session-1.scope");
  const Sweep sweep(files);
  CgroupTree tree = open_tree(files);
  tree.refresh(sweep.of({"user.slice", "user.slice/user-1.slice", "user.slice/user-1.slice/session-1.scope"}));
  REQUIRE(tree.order()[3]->is_root);
  const auto id = tree.order()[3]->id;
  tree.refresh(sweep.of({"user.slice"}));
  REQUIRE(tree.order()[1]->dead.size() == 1);
  CHECK(tree.order()[1]->dead[0].id == id);
  CHECK(tree.size() == 2);
}

TEST_CASE("the same path with another id is another cgroup") {
  const Tree files;
  make(files, "system.slice/x.service");
  make(files, "kept");  // so that the inode differs
  const Sweep sweep(files);
  CgroupTree tree = open_tree(files);
  tree.refresh(sweep.of({"system.slice", "system.slice/x.service"}));
  const auto old_id = tree.order()[2]->id;
  const auto root = std::filesystem::path(files.path());
  std::filesystem::rename(root / "system.slice/x.service", root / "old");
  make(files, "system.slice/x.service");
  tree.refresh(sweep.of({"system.slice", "system.slice/x.service"}));
  CHECK(tree.order()[2]->id != old_id);
  CHECK(tree.order()[2]->born);
  REQUIRE(tree.order()[1]->dead.size() == 1);
  CHECK(tree.order()[1]->dead[0].id == old_id);
}

TEST_CASE("a cgroup that is removed between sweep and listing has no name; those below it are ignored") {
  const Tree files;
  make(files, "system.slice/x.service/inner");
  const Sweep sweep(files);
  CgroupTree tree = open_tree(files);
  const auto records = sweep.of({"system.slice", "system.slice/x.service", "system.slice/x.service/inner"});
  files.remove("system.slice/x.service");
  tree.refresh(records);
  CHECK(paths_of(tree) == std::vector<std::string>{"", "/system.slice", "?", "?"});
  CHECK(tree.size() == 2);
}

TEST_CASE("a swept tree above its limit is truncated, reported, and complete once there is room") {
  const Tree files;
  std::vector<std::string> paths{"jobs"};
  make(files, "jobs");
  for (int i = 0; i < 9; ++i) {
    paths.push_back("jobs/j" + std::to_string(i));
    make(files, paths.back());
  }
  const Sweep sweep(files);
  CgroupTreeOptions options;
  options.max_cgroups = 5;
  CgroupTree tree = open_tree(files, options);
  tree.refresh(sweep.of(paths));
  CHECK(tree.truncated());
  CHECK(tree.size() == 5);
  paths.resize(4);
  tree.refresh(sweep.of(paths));
  CHECK_FALSE(tree.truncated());
  CHECK(tree.size() == 5);
}

TEST_CASE("a swept tree continues from the directories when the sweep is lost, with the known cgroups") {
  const Tree files;
  make(files, "system.slice/x.service");
  const Sweep sweep(files);
  CgroupTree tree = open_tree(files);
  tree.refresh(sweep.of({"system.slice", "system.slice/x.service"}));
  const CgroupNode* known = tree.order()[2];
  make(files, "system.slice/y.service");
  CHECK(tree.refresh());
  REQUIRE(tree.top().children.size() == 1);
  REQUIRE(tree.top().children[0]->children.size() == 2);
  CHECK(tree.top().children[0]->children[0].get() == known);
  CHECK(tree.top().children[0]->children[1]->born);
}
