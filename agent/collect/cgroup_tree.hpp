// cgroup_tree: the tree of cgroups with its directories kept open, and which of them are workload roots.
// Source   the cgroup2 mount. A directory's link count tells whether children came or went, so that a tick costs one
// fstat per
//          directory; all directories are listed again every `full_every` refreshes
// Gives    disjoint workload roots: of nested pods (kind) the deepest, else the outermost unit, VM or container. A
// cgroup is its
//          64-bit id; one that is recreated under the same path is another
// Errors   a directory that cannot be read has no children; open_ fails when the root cannot be opened
// Threads  single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/collect/identity.hpp"
#include "agent/collect/kept_file.hpp"
#include "agent/collect/psi.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

struct CgroupFiles {
  KeptFile cpu{"cpu.stat"}, memory{"memory.current"}, pids{"pids.current"}, io{"io.stat"};
  bool no_memory = false, no_pids = false, no_io = false;  // the controller is not on here
  PsiFiles psi = PsiFiles::of_cgroup();
};

struct CgroupNode {
  CgroupNode(Dir d, std::uint64_t cgroup_id, std::string cgroup_path)
      : dir(std::move(d)), id(cgroup_id), path(std::move(cgroup_path)) {}

  Dir dir;
  std::uint64_t id;
  std::string path;  // "/kubepods.slice/..." below the root; "" is the root
  std::optional<Identity> identity;
  bool in_kubepods = false;
  bool born = false;       // came since the refresh before; false for what was there at the start
  bool is_root = false;    // a workload root
  bool holds_pod = false;  // a pod is somewhere below
  bool gone = false;       // its files said so; it leaves the tree at the next refresh
  bool relist = true;      // list the children at the next refresh
  std::uint64_t links = 0;
  std::vector<std::unique_ptr<CgroupNode>> children;  // by name
  CgroupFiles files;
  std::optional<std::uint64_t> usage_us;        // as last read
  std::optional<std::uint64_t> usage_delta_us;  // over the last interval
  std::vector<std::uint64_t> dead;              // ids of the workload roots at or below children that went
};

struct CgroupTreeOptions {
  std::vector<std::string> pod_parents;  // every child of these paths is a pod of that name
  std::uint64_t full_every = 30;
  std::size_t max_depth = 32;
  std::size_t max_cgroups = 20'000;
};

class CgroupTree {
 public:
  static CgroupTree open_(Dir root, CgroupTreeOptions options);

  // Brings the tree up to date; true when the set of roots may have changed.
  bool refresh();
  CgroupNode& top() { return *top_; }
  std::size_t size() const { return size_; }
  // Cgroups beyond max_cgroups or max_depth were left out, or some could not be opened (descriptors run out).
  bool truncated() const { return truncated_; }

 private:
  CgroupTree(std::unique_ptr<CgroupNode> top, CgroupTreeOptions options)
      : top_(std::move(top)), options_(std::move(options)) {}
  void visit(CgroupNode& node, std::size_t depth);
  void reconcile(CgroupNode& node);
  void mark_roots(CgroupNode& node, bool below_root);
  bool find_pods(CgroupNode& node);

  std::unique_ptr<CgroupNode> top_;
  CgroupTreeOptions options_;
  std::uint64_t refreshes_ = 0;
  std::size_t size_ = 1;
  bool changed_ = false, full_ = true, truncated_ = false;
};

}  // namespace wattle::agent
