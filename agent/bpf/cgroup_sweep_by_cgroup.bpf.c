// cgroup_sweep_by_cgroup: cgroup_sweep for kernels 6.1 to 6.15, which flush all statistics of a cgroup at once.
#define WATTLE_FLUSH_BY_CGROUP
#include "agent/bpf/cgroup_sweep.bpf.c"
