/* slots.bpf: finds a cgroup's slot in the shared table, and creates one for a new cgroup. */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "agent/bpf/kernel_types.h"
#include "agent/bpf/signal_slots.h"

/* The agent replaces these maps by its own, with their sizes, before loading. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct wattle_bucket);
} buckets SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct wattle_parents);
} parents SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct wattle_counters);
} counters SEC(".maps");

const volatile __u32 bucket_bits = 0; /* log2 of the number of buckets, at least 1 */

#define wattle_add(field, value) __sync_fetch_and_add(&(field), (value))

static __always_inline __u32 capacity(void) { return (1u << bucket_bits) * WATTLE_BUCKET_WAYS; }

/* `package`: the agent's number, 0, 1, ... */
static __always_inline struct wattle_counters* counters_of(__u32 slot, __u32 package) {
  __u32 index = package * (capacity() + WATTLE_EXTRA_SLOTS) + slot;
  return bpf_map_lookup_elem(&counters, &index);
}

static __always_inline void note_parents(__u32 slot, struct cgroup* cgroup) {
  struct wattle_parents* out = bpf_map_lookup_elem(&parents, &slot);
  if (!out) return;
  struct cgroup_subsys_state* above = BPF_CORE_READ(cgroup, self.parent);
#pragma unroll
  for (int i = 0; i < WATTLE_PARENTS; ++i) {
    out->id[i] = above ? BPF_CORE_READ(above, cgroup, kn, id) : 0;
    if (above) above = BPF_CORE_READ(above, parent);
  }
}

static __always_inline __u32 find_in(__u32 index, __u64 id) {
  struct wattle_bucket* bucket = bpf_map_lookup_elem(&buckets, &index);
  if (!bucket) return WATTLE_NO_SLOT;
#pragma unroll
  for (__u32 way = 0; way < WATTLE_BUCKET_WAYS; ++way)
    if (bucket->id[way] == id) return index * WATTLE_BUCKET_WAYS + way;
  return WATTLE_NO_SLOT;
}

static __always_inline __u32 take_in(__u32 index, __u64 id) {
  struct wattle_bucket* bucket = bpf_map_lookup_elem(&buckets, &index);
  if (!bucket) return WATTLE_NO_SLOT;
#pragma unroll
  for (__u32 way = 0; way < WATTLE_BUCKET_WAYS; ++way) {
    if (bucket->id[way] != 0) continue;
    __u64 was = __sync_val_compare_and_swap(&bucket->id[way], 0, id);
    if (was == 0 || was == id) return index * WATTLE_BUCKET_WAYS + way;
  }
  return WATTLE_NO_SLOT;
}

static __noinline __u32 make_slot(__u32 first, __u32 second, __u64 id, struct cgroup* cgroup) {
  __u32 slot = take_in(first, id);
  if (slot == WATTLE_NO_SLOT) slot = take_in(second, id);
  if (slot == WATTLE_NO_SLOT) return capacity();
  note_parents(slot, cgroup);
  return slot;
}

static __always_inline __u32 slot_of(struct cgroup* cgroup, __u64 id) {
  if (!id) return capacity() + 1;
  __u64 hash = id * 0x9e3779b97f4a7c15ull;
  __u32 first = (__u32)(hash >> (64 - bucket_bits));
  __u32 second = (__u32)(hash >> 8) & ((1u << bucket_bits) - 1);
  __u32 slot = find_in(first, id);
  if (slot != WATTLE_NO_SLOT) return slot;
  slot = find_in(second, id);
  if (slot != WATTLE_NO_SLOT) return slot;
  return make_slot(first, second, id, cgroup);
}
