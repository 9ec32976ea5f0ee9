/* answer_slots: what answers.bpf.c and the agent share: which workloads are followed, and how long their answers took.
 * Included by BPF C and by C++; plain types only. Units: ns. */
#pragma once

#define WATTLE_ANSWER_WORKLOADS 32
#define WATTLE_ANSWER_ANCESTORS 8 /* how far above a socket's cgroup its workload is looked for */

/* Buckets of log scale: eight an octave, from 2^13 ns (8 us) to 2^37 ns (137 s); what is shorter or longer is in the first or last. */
#define WATTLE_ANSWER_FIRST_BIT 13
#define WATTLE_ANSWER_OCTAVES 24
#define WATTLE_ANSWER_PARTS 8
#define WATTLE_ANSWER_BUCKETS (WATTLE_ANSWER_OCTAVES * WATTLE_ANSWER_PARTS)

/* Set by the agent. */
struct wattle_answer_target {
  unsigned long long cgroup_id; /* 0: nobody */
  unsigned long long target_ns;
};

/* Cumulative; never set back. */
struct wattle_answer_counters {
  unsigned long long count, over;
  unsigned long long
      guessed; /* of count: on connections that speak TLS or HTTP/2, or whose next request came before an answer */
  unsigned long long buckets[WATTLE_ANSWER_BUCKETS];
};
