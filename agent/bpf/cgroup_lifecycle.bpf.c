/* cgroup_lifecycle: reports removed cgroups of v2 by id, parent and name.
 * Source   tp_btf/cgroup_rmdir (include/trace/events/cgroup.h), which runs after a removal has succeeded, children
 *          before parents. New cgroups need no event, because the next walk of the tree finds them
 * Errors   a removal without room in the ring is counted */
#include <linux/bpf.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "agent/bpf/cgroup_ended.h"
#include "agent/bpf/kernel_types.h"

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096); /* set by the reader before loading */
} ended SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} lost SEC(".maps");

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(on_rmdir, struct cgroup* cgroup) {
  (void)ctx;
  if (cgroup->root->hierarchy_id != 0) return 0;
  struct wattle_cgroup_ended record = {};
  record.id = cgroup->kn->id;
  struct cgroup_subsys_state* parent = cgroup->self.parent;
  if (parent) record.parent = parent->cgroup->kn->id;
  const long length = bpf_probe_read_kernel_str(record.name, sizeof(record.name), cgroup->kn->name);
  if (length <= 0 || length > WATTLE_NAME_BYTES) return 0;
  if (!bpf_ringbuf_output(&ended, &record, offsetof(struct wattle_cgroup_ended, name) + length, BPF_RB_NO_WAKEUP))
    return 0;
  __u32 zero = 0;
  __u64* count = bpf_map_lookup_elem(&lost, &zero);
  if (count) __sync_fetch_and_add(count, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
