/* cgroup_ended: the ring's entry for a removed cgroup.
 * Included by BPF C and by C++; plain types only. The entry ends after the used part of `name`. */
#pragma once

#define WATTLE_NAME_BYTES 256 /* NAME_MAX and the final NUL, so that a cgroup's own name is never truncated */

struct wattle_cgroup_ended {
  unsigned long long id, parent;
  char name[WATTLE_NAME_BYTES];
};
