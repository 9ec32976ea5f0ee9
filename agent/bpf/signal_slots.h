/* signal_slots: what the BPF programs of agent/bpf and the agent share: a table of cgroups, mapped into both.
 * Included by BPF C and by C++; plain types only.
 *
 * A cgroup's slot is found by its 64-bit id in one of two buckets of eight ids (one cache line each). A slot's counters
 * are one cache line per physical package, so that packages never share one. The agent reads and evicts through its
 * mapping: no system call, and no capability. Units: ns. */
#pragma once

#define WATTLE_BUCKET_WAYS 8
#define WATTLE_PARENTS 6
#define WATTLE_NO_SLOT 0xffffffffu

struct wattle_bucket {
  unsigned long long id[WATTLE_BUCKET_WAYS]; /* 0: free */
};

/* Ids of the cgroups above, nearest first; 0: none. For cgroups that the agent never saw in the tree. */
struct wattle_parents {
  unsigned long long id[WATTLE_PARENTS];
};

/* Cumulative; never set back, also not when the slot goes to another cgroup. */
struct wattle_counters {
  unsigned long long on_cpu_ns, run_delay_ns, waits, cycles;
  unsigned long long srtt_us, srtt_samples; /* first package only */
  unsigned long long block_ns, blocks;      /* first package only */
};

/* What runs on a CPU now, since when by the monotonic clock (a tick of the kernel early at most). `in_at_ns` is 0 when idle, and
 * while the rest is being written. */
struct wattle_cpu {
  unsigned long long in_at_ns;
  unsigned int slot;
  unsigned int package; /* set by the agent */
  unsigned long long cycles_at_in;
  unsigned long long run_delay_at_in_ns;
  unsigned long long switches;        /* differs whenever the rest may */
  unsigned long long jiffies, now_ns; /* the time, and the kernel's tick at which it was asked */
  unsigned long long pid;             /* of the task that runs */
};

/* In network byte order, as a sock_ops context has addresses. IPv4 has only the first word. */
struct wattle_network {
  unsigned int address[4], mask[4];
};

/* Block requests of the node. */
struct wattle_block_values {
  unsigned long long overflows; /* requests that found no room in flight */
};

/* Slot `capacity` takes what found no slot, `capacity + 1` what belongs to no cgroup. Both count for the node. */
#define WATTLE_EXTRA_SLOTS 2
