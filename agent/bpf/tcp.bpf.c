/* tcp: sums smoothed round trip times to peers outside the cluster, per cgroup of the socket.
 * Source   sock_ops at the root cgroup: RTT_CB, about once per round trip, on connections established after the
 *          attachment. bpf_sock_ops.srtt_us is the kernel's value, in eighths of a microsecond (tcp_sock.srtt_us)
 * Gives    sum and count; excludes loopback and the agent's list of networks */
#include "agent/bpf/slots.bpf.h"

#define FAMILY_INET 2
#define FAMILY_INET6 10

#define NETWORKS 32
const volatile __u32 ipv4_networks = 0, ipv6_networks = 0;
const volatile struct wattle_network ipv4[NETWORKS] = {};
const volatile struct wattle_network ipv6[NETWORKS] = {};

static __always_inline bool excluded_ipv4(__u32 address) {
  for (__u32 i = 0; i < NETWORKS && i < ipv4_networks; ++i)
    if ((address & ipv4[i].mask[0]) == ipv4[i].address[0]) return true;
  return false;
}

static __always_inline bool excluded(struct bpf_sock_ops* context) {
  if (context->family == FAMILY_INET) return excluded_ipv4(context->remote_ip4);
  if (context->family != FAMILY_INET6) return true;
  __u32 a = context->remote_ip6[0], b = context->remote_ip6[1], c = context->remote_ip6[2], d = context->remote_ip6[3];
  if (a == 0 && b == 0 && c == __builtin_bswap32(0xffff)) return excluded_ipv4(d); /* ::ffff:a.b.c.d */
  for (__u32 i = 0; i < NETWORKS && i < ipv6_networks; ++i)
    if ((a & ipv6[i].mask[0]) == ipv6[i].address[0] && (b & ipv6[i].mask[1]) == ipv6[i].address[1] &&
        (c & ipv6[i].mask[2]) == ipv6[i].address[2] && (d & ipv6[i].mask[3]) == ipv6[i].address[3])
      return true;
  return false;
}

SEC("sockops")
int on_socket(struct bpf_sock_ops* context) {
  switch (context->op) {
    case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
    case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
      if (!excluded(context))
        bpf_sock_ops_cb_flags_set(context, context->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RTT_CB_FLAG);
      return 1;
    case BPF_SOCK_OPS_RTT_CB:
      break;
    default:
      return 1;
  }
  if (excluded(context)) return 1; /* another program may have enabled the callback for this socket */
  struct bpf_sock* socket = context->sk;
  if (!socket) return 1;
  struct sock* kernel_socket = (struct sock*)bpf_skc_to_tcp_sock(socket);
  if (!kernel_socket) return 1;
  struct cgroup* cgroup = BPF_CORE_READ(kernel_socket, sk_cgrp_data.cgroup);
  __u64 id = cgroup ? BPF_CORE_READ(cgroup, kn, id) : 0;
  struct wattle_counters* to = counters_of(slot_of(cgroup, id), 0);
  if (!to) return 1;
  wattle_add(to->srtt_us, context->srtt_us >> 3);
  wattle_add(to->srtt_samples, 1);
  return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
