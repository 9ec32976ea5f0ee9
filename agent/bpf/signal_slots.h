/* signal_slots: the table of cgroups that the BPF programs of agent/bpf and the agent share through a mapping.
 * Included by BPF C and by C++; plain types only.
 *
 * A cgroup's slot is found by its 64-bit id in one of two buckets of eight ids (one cache line each). A slot's counters
 * are one cache line per physical package, so that packages never share one. The agent reads and evicts through its
 * mapping, without system calls or capabilities. Units: ns. */
#pragma once

#define WATTLE_BUCKET_WAYS 8
#define WATTLE_PARENTS 6
#define WATTLE_NO_SLOT 0xffffffffu

struct wattle_bucket {
  unsigned long long id[WATTLE_BUCKET_WAYS]; /* 0: free */
};

/* Ids of the ancestors, nearest first; 0: none. Used for cgroups that the agent never saw in the tree. */
struct wattle_parents {
  unsigned long long id[WATTLE_PARENTS];
};

/* Cumulative; never reset, even if the slot is reused for another cgroup. */
struct wattle_counters {
  unsigned long long on_cpu_ns, run_delay_ns, waits, cycles;
  unsigned long long srtt_us, srtt_samples; /* first package only */
  unsigned long long block_ns, blocks;      /* first package only */
};

/* The running task of a CPU, and its start by the monotonic clock (up to a tick of the kernel early). `in_at_ns` is 0
 * if idle. */
struct wattle_cpu {
  unsigned long long in_at_ns;
  unsigned int slot;
  unsigned int package; /* set by the agent */
  unsigned long long cycles_at_in;
  unsigned long long run_delay_at_in_ns;
  unsigned long long switches;        /* twice the number of switches; odd during one, before its run is counted */
  unsigned long long jiffies, now_ns; /* the kernel's tick at the last read of the clock, and its value */
  unsigned long long pid;             /* of the running task */
};

/* Network byte order, as in a sock_ops context. IPv4 uses only the first word. */
struct wattle_network {
  unsigned int address[4], mask[4];
};

/* Block requests of the node. */
struct wattle_block_values {
  unsigned long long overflows; /* requests without room in the table of requests in flight */
};

/* Slot `capacity` counts cgroups without a slot, `capacity + 1` events without a cgroup. Both count for the node. */
#define WATTLE_EXTRA_SLOTS 2
