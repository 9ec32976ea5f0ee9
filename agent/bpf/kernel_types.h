/* kernel_types: the members of kernel structures that our BPF programs read; CO-RE adjusts their offsets to the running
 * kernel.
 * Source: include/linux/{sched,cgroup-defs,kernfs,blkdev,blk_types}.h, block/blk-cgroup.h, include/net/sock.h */
#pragma once

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
  __u64 id;
  const char* name;
};

struct cgroup_root {
  int hierarchy_id; /* 0: cgroup v2 */
};

struct cgroup;
struct cgroup_subsys_state {
  struct cgroup* cgroup;
  struct cgroup_subsys_state* parent;
};

struct cgroup {
  struct cgroup_subsys_state self;
  struct kernfs_node* kn;
  struct cgroup_root* root;
};

struct css_set {
  struct cgroup* dfl_cgrp;
};

struct sched_info {
  unsigned long long run_delay;
};

struct sched_entity {
  __u64 sum_exec_runtime;
};

struct task_struct {
  int pid;
  unsigned int flags;
  struct sched_entity se;
  struct sched_info sched_info;
  struct css_set* cgroups;
};

struct blkcg {
  struct cgroup_subsys_state css;
};

struct blkcg_gq {
  struct blkcg* blkcg;
};

struct bio {
  struct blkcg_gq* bi_blkg;
};

struct request {
  unsigned int __data_len;
  struct bio* bio;
};

struct sock_cgroup_data {
  struct cgroup* cgroup;
};

struct sock {
  struct sock_cgroup_data sk_cgrp_data;
};

#pragma clang attribute pop
