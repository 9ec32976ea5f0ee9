// programs: opens, sizes, loads and attaches our BPF programs through libbpf; keeps only descriptors and mappings.
// Errors   one Result per program, with the fix; the agent continues without it
// Threads  single owner
#pragma once

#include <vector>

#include "agent/bpf/kernel_signals.hpp"
#include "agent/bpf/mapped.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

// The maps that all programs share.
struct SharedTable {
  Fd buckets_fd, parents_fd, counters_fd;
  Mapped<wattle_bucket> buckets;
  Mapped<wattle_parents> parents;
  Mapped<wattle_counters> counters;
  std::uint32_t bucket_bits = 0;
  std::size_t packages = 1;

  static Result<SharedTable> make_(std::size_t cgroups, std::size_t packages);
};

// Buckets for a number of cgroups: a third to a sixth of the places is used, so that both buckets of a key are almost
// never full. The whole table is mapped and resident.
std::uint32_t bucket_bits_for(std::size_t cgroups);

struct SchedProgram {
  std::vector<Fd> links;
  Mapped<wattle_cpu> cpus;
  Fd cycles_map;           // its entries are removed when it is closed
  std::vector<Fd> cycles;  // by CPU; empty: not counted

  static Result<SchedProgram> load_(const SharedTable& table, const KernelSignalsOptions& options);
};

struct TcpProgram {
  std::vector<Fd> links;
  static Result<TcpProgram> load_(const SharedTable& table, const KernelSignalsOptions& options);
};

struct BlockProgram {
  std::vector<Fd> links;
  Mapped<wattle_block_values> values;
  static Result<BlockProgram> load_(const SharedTable& table);
};

}  // namespace wattle::agent
