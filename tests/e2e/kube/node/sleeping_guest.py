"""sleeping_guest: runs inside a machine that sleeps. At each boot it makes the machine a Kubernetes node with guest.py;
at the first it installs the agent as in docs/how-to/prepare-nodes-for-sleep.md: its unit, its user, the polkit rule.

Source   /run/payload: node_guest.py (guest.py of the other node), settings.json, bin/, kubelet.yaml, kubelet.kubeconfig,
         systemd/, agent.yaml, agent.key, controller.pub
Errors   on the console
"""
import json
import pathlib

import node_guest as node

PAYLOAD = node.PAYLOAD


def install_agent():
    """Installs the agent once, because the root file system is persistent."""
    if pathlib.Path("/usr/bin/wattle-agent").exists():
        return
    units = PAYLOAD / "systemd"
    for source, target in ((PAYLOAD / "bin/wattle-agent", "/usr/bin/wattle-agent"),
                           (units / "wattle-agent.service", "/etc/systemd/system/wattle-agent.service"),
                           (units / "wattle.sysusers", "/usr/lib/sysusers.d/wattle.conf"), (units / "wattle.tmpfiles", "/usr/lib/tmpfiles.d/wattle.conf"),
                           (units / "sleep/60-wattle-sleep.rules", "/etc/polkit-1/rules.d/60-wattle-sleep.rules"),
                           (units / "sleep/agent.conf", "/etc/systemd/system/wattle-agent.service.d/sleep.conf"),
                           *((PAYLOAD / name, f"/etc/wattle/{name}") for name in ("agent.yaml", "agent.key", "controller.pub"))):
        node.run("install", "-D", "-m", "0755" if target.startswith("/usr/bin") else "0644", str(source), target)
    node.run("systemd-sysusers")
    node.run("systemd-tmpfiles", "--create", "wattle.conf")
    node.run("systemctl", "daemon-reload")
    node.run("systemctl", "enable", "wattle-agent")


def main():
    settings = json.loads((PAYLOAD / "settings.json").read_text(encoding="utf-8"))
    for module in ("virtio_net", "overlay", "br_netfilter"):
        node.run("modprobe", module)
    node.network(settings)
    node.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "vm.overcommit_memory=1", "kernel.panic=10", "kernel.panic_on_oops=1")
    node.run("ip", "link", "set", "lo", "up")
    node.write("/etc/cni/net.d/10-pods.conflist", json.dumps(node.NETWORK))
    node.run("systemctl", "restart", "containerd")
    install_agent()
    node.run("systemctl", "start", "wattle-agent")
    node.unit("kubelet", str(PAYLOAD / "bin/kubelet"), "--config", str(PAYLOAD / "kubelet.yaml"), "--kubeconfig", str(PAYLOAD / "kubelet.kubeconfig"),
              f"--hostname-override={settings['node']}", "--node-ip=10.0.2.15", *settings["kubelet"])
    print("guest: kubelet started", flush=True)


if __name__ == "__main__":
    main()
