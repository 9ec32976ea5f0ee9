"""node_plane: a control plane that a real node can join, with its own CA, NodeRestriction, service accounts and
controllers.

Differs   from ControlPlane, which is for KWOK: all admission plugins are on, a kubelet authenticates by certificate,
          and kube-controller-manager creates pods for DaemonSets, Deployments and Jobs
Reached   from a guest of QEMU's user network at 10.0.2.2, from pods at the first address of the service network
Errors    HouseError with the end of the output of openssl or the program
"""
import base64
import json
import pathlib
import secrets
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]
from control_plane import ControlPlane  # noqa: E402
from house import HouseError, free_ports  # noqa: E402

ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")  # also when ctest's time limit ends this process
HOST = "10.0.2.2"  # this machine, as QEMU's user network shows it to a guest
FIRST_SERVICE = "10.96.0.1"
# Options of ControlPlane's API server, and their values here; None removes an option
INSTEAD = {"--authorization-mode": "Node,RBAC", "--api-audiences": "https://kubernetes.default.svc", "--disable-admission-plugins": None}


class Authority:
    """Certificates by openssl, valid for two days."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.certificate = self.folder / "ca.pem"
        self.openssl("req", "-x509", *self.new_key("ca"), "-days", "2", "-subj", "/CN=wattle-test", "-out", "ca.pem",
                     "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def openssl(self, *words):
        ran = subprocess.run(["openssl", *words], cwd=self.folder, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise HouseError(f"openssl {words[0]}: {ran.stderr[-500:]}")

    @staticmethod
    def new_key(name):
        return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"

    def issue(self, name, subject, addresses=""):
        """Returns (certificate, key) of `subject`, valid for these addresses."""
        lines = ["extendedKeyUsage=serverAuth,clientAuth", *([f"subjectAltName={addresses}"] if addresses else [])]
        (self.folder / f"{name}.ext").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.openssl("req", "-new", *self.new_key(name), "-subj", subject, "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", str(secrets.randbits(63)), "-days", "2",
                     "-extfile", f"{name}.ext", "-out", f"{name}.pem")
        return self.folder / f"{name}.pem", self.folder / f"{name}.key"


class NodePlane(ControlPlane):
    host, addresses = HOST, (HOST, FIRST_SERVICE)  # its address for nodes, and all addresses of its certificate
    # An emulated kubelet on a busy machine may be silent for a minute; its node must not count as dead
    grace = "15m"

    def __init__(self, assets):
        super().__init__(assets)
        self.authority = Authority(self.dir / "authority")
        self.ca = self.authority.certificate

    def start(self, name, *command):
        if name == "kube-apiserver":
            command = self.as_clusters_are(command)
        super().start(name, *ENDS_WITH_US, *command)

    def as_clusters_are(self, command):
        pairs = zip(command, (*command[1:], ""))
        kept = [word for before, word in zip(("", *command), command) if word not in INSTEAD and before not in INSTEAD]
        reported = [word for flag, _ in pairs if INSTEAD.get(flag) for word in (flag, INSTEAD[flag])]
        certificate, key = self.authority.issue("kube-apiserver", "/CN=kube-apiserver", ",".join(
            [f"IP:{address}" for address in ("127.0.0.1", *self.addresses)] + [f"DNS:kubernetes.default{rest}" for rest in ("", ".svc", ".svc.cluster.local")]))
        return [*kept, *reported, "--tls-cert-file", str(certificate), "--tls-private-key-file", str(key), "--client-ca-file", str(self.ca),
                "--enable-admission-plugins", "NodeRestriction", "--requestheader-client-ca-file", str(self.ca),
                "--requestheader-allowed-names", "front-proxy-client", "--requestheader-username-headers", "X-Remote-User",
                "--requestheader-group-headers", "X-Remote-Group", "--requestheader-extra-headers-prefix", "X-Remote-Extra-"]

    def start_controller_manager(self):
        port, = free_ports(1)
        self.start("kube-controller-manager", str(self.assets / "kube-controller-manager"), "--kubeconfig", str(self.kubeconfig()),
                   "--leader-elect=false", "--bind-address", "127.0.0.1", "--secure-port", str(port),
                   "--node-monitor-grace-period", self.grace,
                   "--service-account-private-key-file", str(self.dir / "service-account.key"), "--root-ca-file", str(self.ca))

    def kubeconfig_for_guest(self, name, subject):
        """Returns a self-contained kubeconfig, because the guest has none of our files."""
        def text(path):
            return base64.b64encode(pathlib.Path(path).read_bytes()).decode()
        certificate, key = self.authority.issue(name, subject)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": f"https://{host}:{self.port}", "certificate-authority-data": text(self.ca)}}],
            "users": [{"name": "it", "user": {"client-certificate-data": text(certificate), "client-key-data": text(key)}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}]})

    def show_api_to_pods(self):
        """Endpoints of the service `kubernetes`. The API server would set its own address, which is loopback here."""
        self.call("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv6" if ":" in self.host else "IPv4",
            "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
            "endpoints": [{"addresses": [self.host], "conditions": {"ready": True}}], "ports": [{"name": "https", "port": self.port, "protocol": "TCP"}]})
