/* cgroup_ended: what the kernel tells of a cgroup that was removed, as it stands in the ring.
 * Included by BPF C and by C++; plain types only. Only as much of `name` is written as there is. */
#pragma once

#define WATTLE_NAME_BYTES 256 /* NAME_MAX and its end: a cgroup's own name is never cut */

struct wattle_cgroup_ended {
  unsigned long long id, parent;
  char name[WATTLE_NAME_BYTES];
};
