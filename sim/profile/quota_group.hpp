// quota_group: a cgroup of ours with a CPU quota, of v2 or v1, whichever has the CPU controller here.
// Source   cpu.max or cpu.cfs_quota_us, cpu.stat, cgroup.procs; mount points from /proc/self/mountinfo
// Rules    one that is there already is taken if nothing runs in it: whoever made it was killed; it is removed at the end
// Units    cores; periods of 100 ms
// Errors   unsupported: no hierarchy with a CPU controller; conflict: something runs in it; denied, io
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace wattle::sim::profile {

struct Periods {
  std::uint64_t all = 0, throttled = 0;  // since it was made
};

class QuotaGroup {
 public:
  static Result<QuotaGroup> make(const std::string& name);
  QuotaGroup(QuotaGroup&& other) noexcept;
  QuotaGroup& operator=(QuotaGroup&&) = delete;
  // Fails where something still runs in it; then it stays.
  ~QuotaGroup();
  Status set(double cores) const;
  Result<Periods> periods() const;
  // What a process writes its number to.
  std::string members_file() const { return path_ + "/cgroup.procs"; }

 private:
  QuotaGroup(std::string path, bool v2) : path_(std::move(path)), v2_(v2) {}
  std::string path_;
  bool v2_;
};

}  // namespace wattle::sim::profile
