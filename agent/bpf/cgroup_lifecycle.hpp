// cgroup_lifecycle: reports the cgroups that were removed since the last call, including those that no walk of the tree
// has seen.
// Source   agent/bpf/cgroup_lifecycle.bpf.c, through a mapped ring
// Errors   denied, unsupported, from open_; lost() counts removals that found the ring full
// Needs    CAP_BPF and CAP_PERFMON to open, nothing to read
// Cost     no system call; about 100 bytes of the ring per removal
// Threads  single owner
#pragma once

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
  static constexpr std::uint32_t kRing_bytes = 128 * 1024;  // about 1,300 removals between two calls

  // `ring_bytes`: a power of two of whole pages.
  static Result<CgroupLifecycle> open_(std::uint32_t ring_bytes = kRing_bytes);

  // Returns the removed cgroups in the order of removal. The result is valid until the next call.
  std::span<const EndedCgroup> read();
  // Number of removals without room in the ring, since the start.
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
