// quota_group: a cgroup of this process with a CPU quota, in whichever of v2 and v1 has the CPU controller.
// Source   cpu.max or cpu.cfs_quota_us, cpu.stat, cgroup.procs; mount points from /proc/self/mountinfo
// Rules    reuses an existing empty group, whose creator was killed; removes the group at the end
// Units    cores; periods of 100 ms
// Errors   unsupported: no hierarchy with a CPU controller; conflict: a process runs in it; denied, io
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace wattle::sim::profile {

struct Periods {
  std::uint64_t all = 0, throttled = 0;  // since the group was made
};

class QuotaGroup {
 public:
  static Result<QuotaGroup> make(const std::string& name);
  QuotaGroup(QuotaGroup&& other) noexcept;
  QuotaGroup& operator=(QuotaGroup&&) = delete;
  // Removes the group unless a process still runs in it.
  ~QuotaGroup();
  Status set(double cores) const;
  Result<Periods> periods() const;
  // File to which a process writes its number to join.
  std::string members_file() const { return path_ + "/cgroup.procs"; }

 private:
  QuotaGroup(std::string path, bool v2) : path_(std::move(path)), v2_(v2) {}
  std::string path_;
  bool v2_;
};

}  // namespace wattle::sim::profile
