// cgroup_sweep_by_cgroup: cgroup_sweep for kernels from 6.1 to 6.15, which flush the statistics of a cgroup as one.
#define WATTLE_FLUSH_BY_CGROUP
#include "agent/bpf/cgroup_sweep.bpf.c"
