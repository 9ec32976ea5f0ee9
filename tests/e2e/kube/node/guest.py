"""guest: runs inside the machine. `prepare` imports the images into containerd once and powers the machine off. `run`
turns it into a Kubernetes node: containerd, a bridge for pods, service names by dnsmasq, kube-proxy and a kubelet, each
a systemd unit. The units outlive the script, and real_node.py queries them through the guest agent.

Source   /run/payload: settings.json, and for `prepare` blobs/, for `run` bin/, kubelet.yaml, kube-proxy.yaml, and a
         kubeconfig for each; without bin/kube-proxy there is none
Errors   on the console; `prepare` ends without its last line
"""
import json
import pathlib
import subprocess
import sys

PAYLOAD = pathlib.Path("/run/payload")
NAMES = "169.254.20.10"  # link-local, as a node's own name server has it
CONTENT = pathlib.Path("/var/lib/containerd/io.containerd.content.v1.content/blobs")
CONTAINERD = """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
"""
# One registry serves every name
MIRROR = """\
server = "{registry}"
[host."{registry}"]
  capabilities = ["pull", "resolve"]
"""
NETWORK = {"cniVersion": "1.0.0", "name": "pods", "plugins": [
    {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True,
     "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
    {"type": "portmap", "capabilities": {"portMappings": True}}]}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"guest: {' '.join(command)}: exit {done.returncode}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout


def write(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def unit(name, *command):
    run("systemd-run", f"--unit={name}", "--property=Restart=on-failure", "--property=RestartSec=2", *command)


def network(settings):
    # Fixed addresses of QEMU's user network
    for words in ("addr add 10.0.2.15/24 dev eth0", "link set eth0 up", "route add default via 10.0.2.2"):
        run("ip", *words.split())
    write("/etc/resolv.conf", "nameserver 10.0.2.3\n")
    write("/etc/containerd/config.toml", CONTAINERD.format(**settings))
    write("/etc/containerd/certs.d/_default/hosts.toml", MIRROR.format(**settings))


def prepare(settings):
    # Use the existing layers, because a pull would hash them again. Read-only, or containerd collects unreferenced
    # layers
    run("systemctl", "stop", "containerd")
    CONTENT.mkdir(parents=True, exist_ok=True)
    run("mount", "--bind", str(PAYLOAD / "blobs"), str(CONTENT))
    run("systemctl", "start", "containerd")
    for name in settings["images"]:
        print(f"guest: {name}", flush=True)
        run("ctr", "--namespace", "k8s.io", "images", "pull", "--hosts-dir", "/etc/containerd/certs.d", name)
    run("systemctl", "stop", "containerd")
    run("umount", str(CONTENT))
    run("cp", "--recursive", f"{PAYLOAD}/blobs/.", str(CONTENT))
    run("sync")
    print(settings["last_line"], flush=True)
    run("systemctl", "poweroff", "--no-block")


def become_node(settings):
    for module in ("overlay", "br_netfilter"):
        run("modprobe", module)
    for setting in ("net.ipv4.ip_forward=1", "net.bridge.bridge-nf-call-iptables=1", "vm.overcommit_memory=1", "kernel.panic=10",
                    "kernel.panic_on_oops=1"):
        run("sysctl", "-q", "-w", setting)
    run("ip", "addr", "add", f"{NAMES}/32", "dev", "lo")
    run("ip", "link", "set", "lo", "up")
    write("/etc/cni/net.d/10-pods.conflist", json.dumps(NETWORK))
    pathlib.Path("/var/lib/wattle-volume").mkdir()
    pathlib.Path("/run/names").mkdir()
    run("systemctl", "restart", "containerd")
    unit("names", "/usr/sbin/dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", f"--listen-address={NAMES}", "--bind-interfaces",
         "--no-resolv", "--no-hosts", "--hostsdir=/run/names", "--local=/cluster.local/", "--user=root")
    if (PAYLOAD / "bin/kube-proxy").exists():
        unit("kube-proxy", str(PAYLOAD / "bin/kube-proxy"), "--config", str(PAYLOAD / "kube-proxy.yaml"))
    unit("kubelet", str(PAYLOAD / "bin/kubelet"), "--config", str(PAYLOAD / "kubelet.yaml"), "--kubeconfig", str(PAYLOAD / "kubelet.kubeconfig"),
         f"--hostname-override={settings['node']}", "--node-ip=10.0.2.15")
    print("guest: kubelet started", flush=True)


def main():
    settings = json.loads((PAYLOAD / "settings.json").read_text(encoding="utf-8"))
    network(settings)
    {"prepare": prepare, "run": become_node}[settings["what"]](settings)


if __name__ == "__main__":
    main()
