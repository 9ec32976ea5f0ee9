/* answers: measures the answer times of connections that a workload accepted: from the first byte received while no
 * answer is pending to the first byte sent.
 * Source   sock_ops at the root cgroup: PASSIVE_ESTABLISHED_CB, once per connection. cgroup_skb at the root cgroup,
 *          both directions: each TCP segment; segments with payload on followed connections are examined
 * Gives    per followed workload a count, the number over its target, the number of guesses, a histogram
 * Guesses  a connection that begins with TLS (the handshake counts, and records hide their content) or HTTP/2 may carry
 *          several requests at once: the time is that from the oldest pending request to the next byte sent. The same
 *          applies if data arrives before the previous answer has ended
 * Rules    retransmitted segments are examined once. A socket belongs to the cgroup that created the listening socket
 * Bounds   an LRU map; an evicted connection is no longer followed */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "agent/bpf/answer_slots.h"
#include "agent/bpf/kernel_types.h"

#define CONNECTIONS 16384
#define PROTOCOL_TCP 6
#define SYN_RST 6
#define TLS_HANDSHAKE 0x16
#define TLS_MAJOR 3

struct connection {
  __u64 asked_ns; /* 0: no answer is pending */
  __u32 workload; /* index in `targets` */
  __u16 begun;    /* its first bytes were examined */
  __u16 guess;
};

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, CONNECTIONS);
  __type(key, __u64); /* the socket's cookie */
  __type(value, struct connection);
} connections SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, WATTLE_ANSWER_WORKLOADS);
  __type(key, __u32);
  __type(value, struct wattle_answer_target);
} targets SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, WATTLE_ANSWER_WORKLOADS);
  __type(key, __u32);
  __type(value, struct wattle_answer_counters);
} answers SEC(".maps");

static __always_inline __u32 workload_of(__u64 cgroup_id) {
  for (__u32 i = 0; i < WATTLE_ANSWER_WORKLOADS; ++i) {
    __u32 key = i;
    struct wattle_answer_target* target = bpf_map_lookup_elem(&targets, &key);
    if (target && target->cgroup_id == cgroup_id) return i;
  }
  return WATTLE_ANSWER_WORKLOADS;
}

SEC("sockops")
int on_accepted(struct bpf_sock_ops* context) {
  if (context->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) return 1;
  struct bpf_sock* socket = context->sk;
  if (!socket) return 1;
  struct sock* kernel_socket = (struct sock*)bpf_skc_to_tcp_sock(socket);
  if (!kernel_socket) return 1;
  struct cgroup* cgroup = BPF_CORE_READ(kernel_socket, sk_cgrp_data.cgroup);
  __u64 id = cgroup ? BPF_CORE_READ(cgroup, kn, id) : 0;
  struct cgroup_subsys_state* above = cgroup ? BPF_CORE_READ(cgroup, self.parent) : 0;
  for (int i = 0; i < WATTLE_ANSWER_ANCESTORS && id; ++i) {
    __u32 workload = workload_of(id);
    if (workload < WATTLE_ANSWER_WORKLOADS) {
      struct connection made = {.workload = workload};
      __u64 cookie = bpf_get_socket_cookie(context);
      bpf_map_update_elem(&connections, &cookie, &made, BPF_ANY);
      return 1;
    }
    id = above ? BPF_CORE_READ(above, cgroup, kn, id) : 0;
    if (above) above = BPF_CORE_READ(above, parent);
  }
  return 1;
}

struct segment {
  __u32 payload, bytes; /* offset and length */
  __u32 sequence, acknowledged;
};

/* Returns false without payload, or if the packet is not TCP. */
static __always_inline bool read_segment(struct __sk_buff* packet, struct segment* out) {
  __u32 header = 40;
  __u8 first = 0, protocol = 0;
  if (bpf_skb_load_bytes(packet, 0, &first, 1)) return false;
  /* Uses the packet's version, because an IPv6 socket may carry IPv4. */
  const bool ipv6 = first >> 4 == 6;
  if (!ipv6) header = (first & 15u) * 4;
  if (bpf_skb_load_bytes(packet, ipv6 ? 6 : 9, &protocol, 1) || protocol != PROTOCOL_TCP) return false;
  __u8 tcp[14];
  if (bpf_skb_load_bytes(packet, header, tcp, sizeof(tcp))) return false;
  out->payload = header + (tcp[12] >> 4) * 4;
  if (packet->len <= out->payload || (tcp[13] & SYN_RST)) return false;
  out->bytes = packet->len - out->payload;
  out->sequence = ((__u32)tcp[4] << 24) | ((__u32)tcp[5] << 16) | ((__u32)tcp[6] << 8) | tcp[7];
  out->acknowledged = ((__u32)tcp[8] << 24) | ((__u32)tcp[9] << 16) | ((__u32)tcp[10] << 8) | tcp[11];
  return true;
}

/* Recognises the first bytes of TLS and HTTP/2. */
static __always_inline bool multiplexes(struct __sk_buff* packet, __u32 at) {
  __u8 head[4];
  if (bpf_skb_load_bytes(packet, at, head, sizeof(head))) return false;
  if (head[0] == TLS_HANDSHAKE && head[1] == TLS_MAJOR) return true;
  return head[0] == 'P' && head[1] == 'R' && head[2] == 'I' && head[3] == ' ';
}

static __always_inline struct bpf_tcp_sock* tcp_of(struct __sk_buff* packet) {
  struct bpf_sock* socket = packet->sk;
  if (!socket) return 0;
  socket = bpf_sk_fullsock(socket);
  return socket ? bpf_tcp_sock(socket) : 0;
}

SEC("cgroup_skb/ingress")
int on_request(struct __sk_buff* packet) {
  __u64 cookie = bpf_get_socket_cookie(packet);
  struct connection* of = bpf_map_lookup_elem(&connections, &cookie);
  if (!of) return 1;
  struct segment segment;
  if (!read_segment(packet, &segment)) return 1;
  struct bpf_tcp_sock* tcp = tcp_of(packet);
  if (!tcp) return 1;
  /* Already received: a retransmission. */
  if ((__s32)(segment.sequence + segment.bytes - tcp->rcv_nxt) <= 0) return 1;
  if (!of->begun) {
    of->begun = 1;
    of->guess = multiplexes(packet, segment.payload);
  }
  if (of->asked_ns != 0) return 1;
  /* The peer has not acknowledged the whole previous answer, and sends another request. */
  if ((__s32)(segment.acknowledged - tcp->snd_nxt) < 0) of->guess = 1;
  of->asked_ns = bpf_ktime_get_ns();
  return 1;
}

static __always_inline __u32 bucket_of(__u64 ns) {
  if (ns < (1ull << WATTLE_ANSWER_FIRST_BIT)) return 0;
  __u32 bit = 0;
  for (__u32 step = 32; step > 0; step /= 2)
    if (ns >> (bit + step)) bit += step;
  __u32 bucket =
      (bit - WATTLE_ANSWER_FIRST_BIT) * WATTLE_ANSWER_PARTS + ((ns >> (bit - 3)) & (WATTLE_ANSWER_PARTS - 1));
  return bucket < WATTLE_ANSWER_BUCKETS ? bucket : WATTLE_ANSWER_BUCKETS - 1;
}

SEC("cgroup_skb/egress")
int on_answer(struct __sk_buff* packet) {
  __u64 cookie = bpf_get_socket_cookie(packet);
  struct connection* of = bpf_map_lookup_elem(&connections, &cookie);
  if (!of || of->asked_ns == 0) return 1;
  struct segment segment;
  if (!read_segment(packet, &segment)) return 1;
  struct bpf_tcp_sock* tcp = tcp_of(packet);
  if (!tcp || (__s32)(segment.sequence - tcp->snd_nxt) < 0) return 1; /* sent before */
  __u64 took_ns = bpf_ktime_get_ns() - of->asked_ns;
  of->asked_ns = 0;
  __u32 workload = of->workload;
  struct wattle_answer_target* target = bpf_map_lookup_elem(&targets, &workload);
  struct wattle_answer_counters* to = bpf_map_lookup_elem(&answers, &workload);
  if (!target || !to) return 1;
  __u32 bucket = bucket_of(took_ns);
  if (bucket < WATTLE_ANSWER_BUCKETS) __sync_fetch_and_add(&to->buckets[bucket], 1);
  if (took_ns > target->target_ns) __sync_fetch_and_add(&to->over, 1);
  if (of->guess) __sync_fetch_and_add(&to->guessed, 1);
  __sync_fetch_and_add(&to->count, 1); /* last, so that a reader that reads it first never sees `over` above `count` */
  return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
