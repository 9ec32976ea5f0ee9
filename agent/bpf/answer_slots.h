/* answer_slots: data shared by answers.bpf.c and the agent: the followed workloads, and their answer times.
 * Included by BPF C and by C++; plain types only. Units: ns. */
#pragma once

#define WATTLE_ANSWER_WORKLOADS 32
#define WATTLE_ANSWER_ANCESTORS 8 /* levels above a socket's cgroup that are searched for its workload */

/* Logarithmic buckets: eight per octave, from 2^13 ns (8 us) to 2^37 ns (137 s). The first and the last bucket also
 * count shorter and longer times. */
#define WATTLE_ANSWER_FIRST_BIT 13
#define WATTLE_ANSWER_OCTAVES 24
#define WATTLE_ANSWER_PARTS 8
#define WATTLE_ANSWER_BUCKETS (WATTLE_ANSWER_OCTAVES * WATTLE_ANSWER_PARTS)

/* Set by the agent. */
struct wattle_answer_target {
  unsigned long long cgroup_id; /* 0: none */
  unsigned long long target_ns;
};

/* Cumulative; never reset. */
struct wattle_answer_counters {
  unsigned long long count, over;
  unsigned long long
      guessed; /* part of count: connections with TLS or HTTP/2, or with a request before the previous answer ended */
  unsigned long long buckets[WATTLE_ANSWER_BUCKETS];
};
