#!/usr/bin/env bash
# node.sh: one Kubernetes node in namespaces: containerd, kube-proxy and a kubelet.
# Usage    node.sh enter, in the network namespace of the cluster; it joins the node's cgroups and namespaces and runs
#          `node.sh run` there
# Units    NODE name, ADDRESSES with commas, RUN folder of the node's state, configuration and logs, TREE unpacked packages,
#          KUBE folder of the programs, CGROUP name of the node's cgroup, HIERARCHIES file with a line for each:
#          type, mount point, options
# Ends     with its first process, and all of its processes with it
set -euo pipefail

if [[ "$1" == enter ]]; then
  # A node that was off has left empty cgroups, and cgroup v2 accepts no process in a cgroup with children.
  while read -r type point _; do
    find "$point/$CGROUP" -mindepth 1 -depth -type d -exec rmdir {} +
    [[ "$type" != cgroup2 ]] || for controller in $(<"$point/$CGROUP/cgroup.subtree_control"); do echo "-$controller" >"$point/$CGROUP/cgroup.subtree_control"; done
    echo 0 >"$point/$CGROUP/cgroup.procs"
  done <"$HIERARCHIES"
  exec nsenter --net="/run/netns/$NODE" unshare --mount --uts --ipc --cgroup --pid --fork --kill-child=KILL bash "$0" run
fi

mount --make-rprivate /
hostname "$NODE"
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t bpf bpf /sys/fs/bpf
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null || true

# The node's cgroups are the roots of its hierarchies.
if [[ "$(cut -d' ' -f1 "$HIERARCHIES" | sort -u)" == cgroup2 ]]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  # A cgroup with processes cannot distribute controllers to its children.
  mkdir -p /sys/fs/cgroup/init
  for process in $(</sys/fs/cgroup/cgroup.procs); do echo "$process" >/sys/fs/cgroup/init/cgroup.procs || true; done
  for controller in $(</sys/fs/cgroup/cgroup.controllers); do echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control || true; done
else
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  while read -r type point options; do
    mkdir -p "$point"
    if [[ "$type" == cgroup2 ]]; then
      mount -t cgroup2 cgroup2 "$point"
      continue
    fi
    [[ "$options" != name=* ]] || options=none,$options
    mount -t cgroup -o "$options" cgroup "$point"
    for controller in ${options//,/ }; do [[ -e "/sys/fs/cgroup/$controller" || "$controller" == none || "$controller" == name=* ]] || ln -s "$point" "/sys/fs/cgroup/$controller"; done
  done <"$HIERARCHIES"
fi

for folder in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
mkdir -p /var/lib/{containerd,kubelet,cni,wattle-agent} /var/log/{pods,containers} /run/{cni,containerd,sysctl}
install -d -o 64460 -g 64460 /var/lib/wattle-volume
mount --bind "$RUN/containerd" /var/lib/containerd
mount --bind "$RUN/kubelet" /var/lib/kubelet
mount --make-rshared /

# A kubelet sets these for the whole machine. They are set before, so that the kubelet does not change the machine.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=/run/sysctl/$(tr / _ <<<"${setting%=*}")
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done
ip link set lo up
for setting in ipv4/ip_forward ipv6/conf/all/forwarding; do [[ ! -e "/proc/sys/net/$setting" ]] || echo 1 >"/proc/sys/net/$setting"; done

export PATH=$TREE/usr/bin:$TREE/usr/sbin:$PATH
cp "$RUN/10-pods.conflist" /run/cni/
# restrict_oom_score_adj: a process without CAP_SYS_RESOURCE cannot lower its score.
cat >/run/containerd.toml <<TOML
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$TREE/usr/lib/cni"
    conf_dir = "/run/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "$TREE/usr/sbin/runc"
TOML
# Restarts a program when it exits, like systemd, because a kubelet exits while containerd does not answer yet. Sixty
# exits in a row within ten seconds each end the node.
keep() {
  local name=$1 quick=0 at
  shift
  while ((quick < 60)); do
    at=$SECONDS
    "$@" >>"$RUN/$name.log" 2>&1 || true
    echo "node.sh: $name of $NODE has exited" >&2
    if ((SECONDS - at < 10)); then quick=$((quick + 1)); else quick=0; fi
    sleep 1
  done
}
keep containerd containerd --config /run/containerd.toml &
keep kube-proxy "$KUBE/kube-proxy" --config "$RUN/kube-proxy.yaml" &
keep kubelet "$KUBE/kubelet" --config "$RUN/kubelet.yaml" --kubeconfig "$RUN/kubelet.kubeconfig" --hostname-override "$NODE" --node-ip "$ADDRESSES" &
# This shell is the first process of the namespace and also reaps orphans.
wait -n || true
echo "node.sh: a program of $NODE exits repeatedly" >&2
