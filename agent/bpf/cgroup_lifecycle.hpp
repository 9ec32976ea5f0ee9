// cgroup_lifecycle: the cgroups that were removed since the last reading, also those that no reading of the tree ever saw.
// Source   agent/bpf/cgroup_lifecycle.bpf.c, through a ring that is mapped
// Errors   denied, unsupported, from open_; removals that find the ring full are counted by lost()
// Needs    CAP_BPF and CAP_PERFMON to open, nothing to read
// Cost     no system call; about 100 bytes of the ring per removal
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/bpf/mapped.hpp"
#include "agent/finding.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

struct ring_buffer;

namespace wattle::agent {

struct EndedCgroup {
  std::uint64_t id = 0, parent = 0;
  std::string name;
};

class CgroupLifecycle {
 public:
  static constexpr std::uint32_t kRing_bytes = 128 * 1024;  // some 1,300 removals between two readings

  // `ring_bytes`: a power of two of whole pages.
  static Result<CgroupLifecycle> open_(std::uint32_t ring_bytes = kRing_bytes);

  // In the order of their removal. The value lives until the next reading.
  std::span<const EndedCgroup> read();
  // Removals that found no room, since the start.
  std::uint64_t lost() const { return __atomic_load_n(lost_.span().data(), __ATOMIC_RELAXED); }

 private:
  struct Closer {
    void operator()(ring_buffer* ring) const;
  };
  CgroupLifecycle() = default;

  Fd link_, map_;
  std::unique_ptr<ring_buffer, Closer> ring_;
  Mapped<std::uint64_t> lost_;
  std::unique_ptr<std::vector<EndedCgroup>> ended_ = std::make_unique<std::vector<EndedCgroup>>();
};

Finding finding_of(const Result<CgroupLifecycle>& lifecycle);

}  // namespace wattle::agent
