/* block: measures the time from a block request's issue to its completion, per cgroup that its first bio is charged to.
 * Source   tp_btf/block_rq_issue and block_rq_complete; before 5.11 the queue was their first argument. If the io
 *          controller is on a v1 hierarchy, a bio's cgroup is not a v2 cgroup: the request counts for the task that
 *          issues it, or only for the node if that is a kernel thread
 * Gives    sum and count per cgroup. A request without room in the table is counted, not measured */
#include "agent/bpf/slots.bpf.h"

#define KERNEL_THREAD 0x00200000 /* PF_KTHREAD */

struct flight {
  __u64 issued_ns, cgroup_id;
  __u32 slot;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, __u64);
  __type(value, struct flight);
} in_flight SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct wattle_block_values);
} node SEC(".maps");

const volatile __u8 queue_is_argument = false;

static __always_inline struct cgroup* cgroup_of(struct request* request) {
  struct cgroup* cgroup = NULL;
  if (bpf_core_field_exists(request->bio->bi_blkg)) {
    struct bio* bio = BPF_CORE_READ(request, bio);
    struct blkcg_gq* group = bio ? BPF_CORE_READ(bio, bi_blkg) : NULL;
    if (group) cgroup = BPF_CORE_READ(group, blkcg, css.cgroup);
  }
  if (cgroup && BPF_CORE_READ(cgroup, root, hierarchy_id) == 0) return cgroup;
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  if (BPF_CORE_READ(task, flags) & KERNEL_THREAD) return NULL;
  return BPF_CORE_READ(task, cgroups, dfl_cgrp);
}

static __always_inline int issue(struct request* request) {
  struct cgroup* cgroup = cgroup_of(request);
  __u64 key = (__u64)request;
  struct flight flight = {.issued_ns = bpf_ktime_get_ns()};
  if (cgroup) flight.cgroup_id = BPF_CORE_READ(cgroup, kn, id);
  flight.slot = slot_of(cgroup, flight.cgroup_id);
  if (bpf_map_update_elem(&in_flight, &key, &flight, BPF_ANY)) {
    __u32 zero = 0;
    struct wattle_block_values* all = bpf_map_lookup_elem(&node, &zero);
    if (all) wattle_add(all->overflows, 1);
  }
  return 0;
}

static __always_inline int complete(struct request* request, __u32 bytes) {
  __u64 key = (__u64)request;
  struct flight* flight = bpf_map_lookup_elem(&in_flight, &key);
  if (!flight || bytes < BPF_CORE_READ(request, __data_len)) return 0; /* a partial completion */
  __u64 took_ns = bpf_ktime_get_ns() - flight->issued_ns;
  struct wattle_counters* to = counters_of(flight->slot, 0);
  if (to) {
    wattle_add(to->block_ns, took_ns);
    wattle_add(to->blocks, 1);
  }
  bpf_map_delete_elem(&in_flight, &key);
  return 0;
}

SEC("tp_btf/block_rq_issue")
int on_issue(__u64* context) { return issue((struct request*)(queue_is_argument ? context[1] : context[0])); }

/* The arguments are (request, status, bytes) before and after 5.11. */
SEC("tp_btf/block_rq_complete")
int on_complete(__u64* context) { return complete((struct request*)context[0], (__u32)context[2]); }

char LICENSE[] SEC("license") = "Dual MIT/GPL";
