/* cgroup_record: the BPF sweep's record of one cgroup; shared by the program and its reader.
 * Units    ns, pages and counts, as in the kernel; cumulative except for memory_pages and pids
 * Absent   values without their bit in `present`: this kernel or this cgroup does not have them */
#ifndef WATTLE_AGENT_BPF_CGROUP_RECORD_H
#define WATTLE_AGENT_BPF_CGROUP_RECORD_H

enum {
  kCgroup_has_usage = 1 << 0,
  kCgroup_has_throttled = 1 << 1,
  kCgroup_has_memory = 1 << 2,
  kCgroup_has_events = 1 << 3,
  kCgroup_has_pids = 1 << 4,
  kCgroup_has_pressure = 1 << 5,
  kCgroup_has_cpu_full = 1 << 6,
  kCgroup_pressure_due = 1 << 7, /* recent stalls are not in the sums yet; reading a .pressure file adds them */
};

enum { kPsi_io_some, kPsi_io_full, kPsi_memory_some, kPsi_memory_full, kPsi_cpu_some, kPsi_cpu_full, kPsi_totals };

struct cgroup_record {
  unsigned long long id;     /* kernfs inode */
  unsigned long long parent; /* 0 for the root of the hierarchy */
  unsigned long long usage_ns;
  unsigned long long throttled_ns;
  unsigned long long memory_pages;
  unsigned long long memory_high_events;
  unsigned long long memory_oom_kills;
  unsigned long long pids;
  unsigned long long pressure_ns[kPsi_totals];
  unsigned int level;
  unsigned int present;
};

#endif
