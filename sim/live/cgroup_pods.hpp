// cgroup_pods: pods on this machine without a kubelet: cgroups named like those of a kubelet and containerd, with a
// bounded load.
// Source   a cgroup2 tree (its mount is found in /proc/self/mounts, or given) and the program stress-ng
// Marker   a pod UID that begins with the ASCII bytes of "wattle" and contains the id of the process that made it, so
//          that leftovers of a killed process can be recognised
// Units    load in percent of one core
// Errors   not_found (no cgroup2, no stress-ng), denied (not root), io, exhausted
// Threads  single owner; forks, so no other thread of the process may hold a lock
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::sim::live {

// UUID text: marker, a number that differs between runs, the process, a counter.
std::string marked_pod_uid(std::uint64_t run, pid_t process, std::uint32_t counter);
// Returns the process in a marked UID, with dashes or underscores; 0 if the UID is not marked.
pid_t process_of_marked_uid(std::string_view uid);

// Mount point of the cgroup2 tree from the text of /proc/self/mounts.
Result<std::string> find_cgroup2_mount(std::string_view mounts);

struct CgroupPodsOptions {
  std::string cgroup_root;             // mount of cgroup2
  std::string proc_root = "/proc";     // to check whether a marked process is alive
  std::string program = "stress-ng";   // found in PATH
  double max_total_load_percent = 40;  // of one core, over all pods here
  int max_seconds = 3600;              // each load ends by itself after this time
};

class CgroupPods {
 public:
  static Result<CgroupPods> open_(const CgroupPodsOptions& options);
  CgroupPods(CgroupPods&&) noexcept = default;
  CgroupPods& operator=(CgroupPods&&) = delete;
  ~CgroupPods();  // ends all its pods and removes their cgroups

  // Makes the pod's cgroups and starts the load in them. exhausted: the bound on load is reached.
  Status start(const std::string& uid, double load_percent);
  // Ends the pod and removes its cgroups. An unknown pod is not an error.
  Status stop(const std::string& uid);
  // Ends and removes pods marked by processes that no longer exist. Returns their number.
  std::size_t sweep();
  std::size_t size() const { return pods_.size(); }

 private:
  struct Pod {
    pid_t process = 0;
    double load_percent = 0;
  };
  explicit CgroupPods(CgroupPodsOptions options) : options_(std::move(options)) {}
  std::string burstable() const;
  std::string pod_dir(const std::string& uid) const;
  std::string scope_dir(const std::string& uid) const;
  Result<pid_t> spawn(const std::string& scope, double load_percent) const;
  Status remove_tree(const std::string& pod_dir);

  CgroupPodsOptions options_;
  std::string program_;
  std::map<std::string, Pod> pods_;
};

}  // namespace wattle::sim::live
