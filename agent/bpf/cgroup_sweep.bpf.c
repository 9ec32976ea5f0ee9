// cgroup_sweep: walks all cgroups below a given one in a single read of its iterator, and stores one record of each in
// a map that the reader has mapped. Parents come before their children. The set of cgroups does not change meanwhile
// (the iterator holds cgroup_mutex).
// Source   struct cgroup and the subsystems' own structures, by CO-RE; fields that the kernel lacks are marked absent
// Units    cgroup_record.h
// Cost     one flush of the CPU statistics for all, then plain loads
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "agent/bpf/cgroup_record.h"

#define KERNEL_TYPE __attribute__((preserve_access_index))
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_F_MMAPABLE (1U << 10)

typedef struct {
  long counter;
} KERNEL_TYPE atomic_long_t;
typedef struct {
  __s64 counter;
} KERNEL_TYPE atomic64_t;

struct kernfs_node {
  __u64 id;
} KERNEL_TYPE;

struct cgroup;
struct cgroup_subsys_state {
  struct cgroup *cgroup;
  struct cgroup_subsys_state *parent;
} KERNEL_TYPE;

struct task_cputime {
  unsigned long long sum_exec_runtime;
} KERNEL_TYPE;
struct cgroup_base_stat {
  struct task_cputime cputime;
} KERNEL_TYPE;

struct work_struct {
  atomic_long_t data;
} KERNEL_TYPE;
struct delayed_work {
  struct work_struct work;
} KERNEL_TYPE;
struct psi_group {
  bool enabled;
  struct delayed_work avgs_work;
  __u64 total[12];  // [NR_PSI_AGGREGATORS][NR_PSI_STATES - 1], which BTF reports as one row; the averages come first
} KERNEL_TYPE;
enum psi_states { PSI_IO_SOME, PSI_IO_FULL, PSI_MEM_SOME, PSI_MEM_FULL, PSI_CPU_SOME, PSI_CPU_FULL };

enum cgroup_subsys_id { cpu_cgrp_id = 1, memory_cgrp_id = 4, pids_cgrp_id = 11 };
struct cgroup {
  struct cgroup_subsys_state self;
  int level;
  struct kernfs_node *kn;
  struct cgroup_subsys_state *subsys[16];
  struct cgroup_base_stat bstat;
  struct psi_group *psi;
} KERNEL_TYPE;

struct cfs_bandwidth {
  __u64 throttled_time;
} KERNEL_TYPE;
struct task_group {
  struct cfs_bandwidth cfs_bandwidth;
} KERNEL_TYPE;

struct page_counter {
  atomic_long_t usage;
} KERNEL_TYPE;
enum memcg_memory_event { MEMCG_HIGH = 1, MEMCG_OOM_KILL = 4 };
struct mem_cgroup {
  struct page_counter memory;
  atomic_long_t memory_events[16];
} KERNEL_TYPE;

struct pids_cgroup {
  atomic64_t counter;
} KERNEL_TYPE;

struct bpf_iter__cgroup {
  struct cgroup *cgroup;
} KERNEL_TYPE;

// Linux 6.16 moved flushing from cgroups to the state of one subsystem. Each object names only the function of its
// kernels. Weak symbols for both do not work: libbpf 1.1 looks for a missing one in all modules, which needs
// CAP_SYS_ADMIN.
#ifdef WATTLE_FLUSH_BY_CGROUP
extern void cgroup_rstat_flush(struct cgroup *cgroup) __ksym;
static void flush(struct cgroup *cgroup) { cgroup_rstat_flush(cgroup); }
#else
extern void css_rstat_flush(struct cgroup_subsys_state *css) __ksym;
static void flush(struct cgroup *cgroup) { css_rstat_flush(&cgroup->self); }
#endif

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // the reader sets the size before loading
  __type(key, __u32);
  __type(value, struct cgroup_record);
} records SEC(".maps");

// Index 0: number of cgroups at the last sweep, which may exceed the number of records.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} seen SEC(".maps");

static void read_cpu(struct cgroup *cgroup, struct cgroup_record *record) {
  record->usage_ns = cgroup->bstat.cputime.sum_exec_runtime;
  record->present |= kCgroup_has_usage;
  if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id)) return;
  struct cgroup_subsys_state *css = 0;
  bpf_core_read(&css, sizeof(css), &cgroup->subsys[bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id)]);
  struct task_group *group = (struct task_group *)css;  // its first member
  if (!css || !bpf_core_field_exists(group->cfs_bandwidth.throttled_time)) return;
  bpf_core_read(&record->throttled_ns, sizeof(record->throttled_ns), &group->cfs_bandwidth.throttled_time);
  record->present |= kCgroup_has_throttled;
}

static void read_memory(struct cgroup *cgroup, struct cgroup_record *record) {
  if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id)) return;
  struct cgroup_subsys_state *css = 0;
  bpf_core_read(&css, sizeof(css), &cgroup->subsys[bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id)]);
  if (!css) return;
  struct mem_cgroup *memory = (struct mem_cgroup *)css;  // its first member
  long pages = 0;
  bpf_core_read(&pages, sizeof(pages), &memory->memory.usage.counter);
  record->memory_pages = pages < 0 ? 0 : pages;
  record->present |= kCgroup_has_memory;
  if (!bpf_core_enum_value_exists(enum memcg_memory_event, MEMCG_OOM_KILL)) return;
  bpf_core_read(&record->memory_high_events, sizeof(long),
                &memory->memory_events[bpf_core_enum_value(enum memcg_memory_event, MEMCG_HIGH)].counter);
  bpf_core_read(&record->memory_oom_kills, sizeof(long),
                &memory->memory_events[bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM_KILL)].counter);
  record->present |= kCgroup_has_events;
}

static void read_pids(struct cgroup *cgroup, struct cgroup_record *record) {
  if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, pids_cgrp_id)) return;
  struct cgroup_subsys_state *css = 0;
  bpf_core_read(&css, sizeof(css), &cgroup->subsys[bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id)]);
  if (!css) return;
  struct pids_cgroup *pids = (struct pids_cgroup *)css;  // its first member
  bpf_core_read(&record->pids, sizeof(record->pids), &pids->counter.counter);
  record->present |= kCgroup_has_pids;
}

static void read_pressure(struct cgroup *cgroup, struct cgroup_record *record) {
  if (!bpf_core_field_exists(cgroup->psi)) return;
  struct psi_group *psi = cgroup->psi;
  if (!psi || !bpf_core_enum_value_exists(enum psi_states, PSI_CPU_SOME)) return;
  if (bpf_core_field_exists(psi->enabled) && !psi->enabled) return;
  __u64 *to = record->pressure_ns;
  bpf_core_read(&to[kPsi_io_some], 8, &psi->total[bpf_core_enum_value(enum psi_states, PSI_IO_SOME)]);
  bpf_core_read(&to[kPsi_io_full], 8, &psi->total[bpf_core_enum_value(enum psi_states, PSI_IO_FULL)]);
  bpf_core_read(&to[kPsi_memory_some], 8, &psi->total[bpf_core_enum_value(enum psi_states, PSI_MEM_SOME)]);
  bpf_core_read(&to[kPsi_memory_full], 8, &psi->total[bpf_core_enum_value(enum psi_states, PSI_MEM_FULL)]);
  bpf_core_read(&to[kPsi_cpu_some], 8, &psi->total[bpf_core_enum_value(enum psi_states, PSI_CPU_SOME)]);
  record->present |= kCgroup_has_pressure;
  if (bpf_core_enum_value_exists(enum psi_states, PSI_CPU_FULL)) {
    bpf_core_read(&to[kPsi_cpu_full], 8, &psi->total[bpf_core_enum_value(enum psi_states, PSI_CPU_FULL)]);
    record->present |= kCgroup_has_cpu_full;
  }
  // The kernel updates the sums every 2 s while its work item is armed (WORK_STRUCT_PENDING is bit 0); otherwise the
  // sums are up to date.
  if (psi->avgs_work.work.data.counter & 1) record->present |= kCgroup_pressure_due;
}

SEC("iter.s/cgroup")
int sweep_cgroups(struct bpf_iter__cgroup *context) {
  struct cgroup *cgroup = context->cgroup;
  if (!cgroup) return 0;  // the end
  const __u32 zero = 0;
  __u64 *count = bpf_map_lookup_elem(&seen, &zero);
  if (!count) return 0;
  const __u64 at = *count;
  *count = at + 1;
  if (at == 0) flush(cgroup);  // the top comes first; the flush covers all cgroups below it
  const __u32 index = (__u32)at;
  struct cgroup_record *record = bpf_map_lookup_elem(&records, &index);
  if (!record) return 0;
  record->id = cgroup->kn->id;
  record->level = (__u32)cgroup->level;
  record->present = 0;
  struct cgroup_subsys_state *parent = cgroup->self.parent;
  record->parent = parent ? parent->cgroup->kn->id : 0;
  read_cpu(cgroup, record);
  read_memory(cgroup, record);
  read_pids(cgroup, record);
  read_pressure(cgroup, record);
  return 0;
}

char kLicense[] SEC("license") = "GPL";
