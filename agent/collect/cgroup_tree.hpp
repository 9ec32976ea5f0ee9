// cgroup_tree: the tree of cgroups and its workload roots.
// Source   the BPF sweep, whose ids form the tree: directories are listed only to get the names of new children.
//          Without a sweep, the directories themselves, which stay open: one fstat each gives the link count, which
//          changes when children come or go, and all are listed again every `full_every` refreshes
// Gives    workload roots by one rule: every pod at any depth and the outermost unit, VM or container are workloads,
//          and a cgroup belongs to the nearest workload at or above it. A workload that contains others (a node of
//          kind, a pod with a cluster within) has the usage that is left after theirs. /kata_overhead/ID belongs to the
//          pod that has a container of that id. The 64-bit id identifies a cgroup: one recreated under the same path is
//          a different cgroup. Ids of cgroup v1 are its inodes with kV1_id set, because each hierarchy has its own
//          numbers. A cgroup of v1 that is renamed ends and starts again; those of v2 are never renamed
// Errors   a directory that cannot be read has only the children that are known already
// Threads  single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/bpf/cgroup_record.h"
#include "agent/collect/cgroup_root.hpp"
#include "agent/collect/identity.hpp"
#include "agent/collect/kept_file.hpp"
#include "agent/collect/maybe_file.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

inline constexpr std::uint64_t kV1_id = std::uint64_t{1} << 52;  // a double is exact up to 2^53

// A container below a root that ended, with its usage over the previous interval.
struct LastContainer {
  std::string id;
  std::uint64_t last_delta_us = 0;
};

// A workload root that ended, with its last values; or an ended container below a root that stays.
struct DeadRoot {
  std::uint64_t id = 0;
  std::string path;
  Identity identity;
  std::unique_ptr<CgroupRoot> root;       // null: it ended before it was read
  std::vector<LastContainer> containers;  // of a pod
  bool container = false;                 // a container, not a root
  std::uint64_t last_delta_us = 0;        // of a container
  bool foreign = false;
};

struct CgroupNode {
  CgroupNode(std::uint64_t cgroup_id, std::string cgroup_path, bool v1)
      : id(cgroup_id), path(std::move(cgroup_path)), cpu(cpu_file(v1)) {}
  std::string_view name() const { return std::string_view(path).substr(path.rfind('/') + 1); }
  // Usage over the last interval without that of the workloads below.
  std::uint64_t own_delta_us() const {
    const std::uint64_t all = usage_delta_us.value_or(0);
    return all - (all < within_us ? all : within_us);
  }

  std::uint64_t id;
  std::string path;  // "/kubepods.slice/..." below the root; "" is the root
  std::optional<Identity> identity;
  bool in_kubepods = false;
  bool born = false;          // created since the previous refresh; false for cgroups that existed at the start
  bool is_root = false;       // a workload root
  bool is_container = false;  // the outermost one below a pod
  bool nested = false;        // a root within another
  bool foreign = false;       // a pod within a pod, of a cluster that ours does not know
  bool open = false;          // reads every child's CPU time: outside of workloads, or if a workload was within another
  bool gone = false;          // its files returned ENODEV; it leaves the tree at the next refresh
  bool relist = true;         // list the children at the next refresh
  std::uint64_t links = 0;
  std::uint64_t refresh = 0;                          // the last that found it
  std::vector<std::unique_ptr<CgroupNode>> children;  // by name
  std::unique_ptr<Dir> dir;                           // unset while a sweep is used, or if it could not be opened
  KeptFile cpu;
  std::optional<std::uint64_t> usage_us;                          // as last read
  std::optional<std::uint64_t> usage_delta_us;                    // over the last interval
  std::uint64_t within_us = 0;                                    // usage of workloads below
  std::optional<std::uint64_t> throttled_us, throttled_delta_us;  // only by its own limit
  std::unique_ptr<MaybeFile> throttled_v1;                        // cpu.stat of cgroup v1, once it was read
  std::vector<DeadRoot> dead;                                     // at or below children that left in this refresh
  std::unique_ptr<CgroupRoot> root;                               // of a workload root, once it was read
};

struct CgroupTreeOptions {
  std::vector<std::string> pod_parents;  // every child of these paths is a pod of that name
  std::uint64_t full_every = 30;
  std::size_t max_depth = 32;
  std::size_t max_cgroups = 20'000;
  bool v1 = false;  // a hierarchy of cgroup v1
};

class CgroupTree {
 public:
  static CgroupTree open_(Dir root, CgroupTreeOptions options);

  // Brings the tree up to date; true when the set of roots may have changed. Records are those of one sweep from top().
  bool refresh();
  bool refresh(std::span<const cgroup_record> records);

  CgroupNode& top() { return *top_; }
  const CgroupNode& top() const { return *top_; }
  const Dir& top_dir() const { return top_dir_; }
  bool v1() const { return options_.v1; }
  // Opens the directory of this cgroup; fails if its path belongs to another cgroup now.
  Result<Dir> open_dir_of(const CgroupNode& node) const;
  // Returns false if the cgroup has ended or its path belongs to another one. Needs no descriptor.
  bool lives(const CgroupNode& node) const;
  // After refresh(records): the node of each record, or null.
  std::span<CgroupNode* const> order() const { return order_; }
  std::size_t size() const { return size_; }
  // Cgroups beyond max_cgroups or max_depth were left out, or some could not be opened (descriptors run out).
  bool truncated() const { return truncated_; }
  // Returns the identity that a child of that name would have.
  std::optional<Identity> identity_of(const std::string& parent_path, const std::string& name, bool in_kubepods) const;
  // Takes the values of a root that is removed with all cgroups below it, including its containers.
  static DeadRoot leave(CgroupNode& root);
  // Takes the values of a container whose root stays.
  static DeadRoot leave_container(CgroupNode& container);
  // True if the cgroup left the tree in this refresh or the previous one.
  bool dropped(std::uint64_t id) const;

 private:
  CgroupTree(Dir dir, std::unique_ptr<CgroupNode> top, CgroupTreeOptions options)
      : top_dir_(std::move(dir)), top_(std::move(top)), options_(std::move(options)) {}
  Result<std::uint64_t> id_of(Result<std::uint64_t> inode) const;
  void visit(CgroupNode& node, std::size_t depth);
  void reconcile(CgroupNode& node);
  void take_swept(std::span<const cgroup_record> records);
  void drop_unseen(CgroupNode& node);
  void drop(CgroupNode& gone, std::vector<DeadRoot>& into);
  CgroupNode& adopt(CgroupNode& parent, std::string name, std::uint64_t id);
  void mark();
  bool mark_roots(CgroupNode& node, bool below_root, bool below_pod, bool in_pod);
  void assign_overhead();

  Dir top_dir_;
  std::unique_ptr<CgroupNode> top_;
  CgroupTreeOptions options_;
  std::uint64_t refreshes_ = 0;
  std::size_t size_ = 1;
  bool changed_ = false, full_ = true, truncated_ = false;
  std::vector<std::uint64_t> dropped_, dropped_before_;  // ids
  std::vector<std::uint64_t> ids_;                       // of the last sweep
  std::vector<CgroupNode*> order_;
  std::unordered_map<std::uint64_t, CgroupNode*> by_id_;  // while take_swept() runs
  std::vector<CgroupNode*> marked_;                       // new, or with dead children, in the last refresh
};

}  // namespace wattle::agent
