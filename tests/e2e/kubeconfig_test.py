#!/usr/bin/env python3
"""kubeconfig_test: kubeconfigs of Rancher, Teleport, EKS, GKE, AKS and others against a server in Python: paths in the
server's address, exec plugins with tokens and certificates, token files, several kubeconfigs, the name in the server's
certificate; and unsupported features with their reasons.

Usage    kubeconfig_test.py FOLDER-OF-BINARIES
"""
import base64
import http.server
import json
import os
import pathlib
import ssl
import subprocess
import sys
import tempfile
import threading

from house import binaries_from
from patience import LATE_S
from vendor_logins import NOT_INSTALLED, VENDORS

PREFIX = "/k8s/clusters/c-m-4x7k"
NAME = "kube-teleport-proxy-alpn.teleport.example"
failures = 0


def check(claim, truth, said=""):
    global failures
    failures += 0 if truth else 1
    print(("ok      " if truth else "FAILED  ") + claim + ("" if truth else f"\n        {said}"), flush=True)


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    """Signs the certificates of server and clients."""

    def __init__(self, folder):
        self.folder = folder
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "ca.key", "-out", folder / "ca.pem", "-days", "2", "-subj", "/CN=kubernetes",
                "-addext", "basicConstraints=critical,CA:TRUE")

    def signed(self, name, common, alternative):
        key, request, certificate = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        (self.folder / "extensions").write_text(f"subjectAltName={alternative}\n")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={common}")
        openssl("x509", "-req", "-in", request, "-CA", self.folder / "ca.pem", "-CAkey", self.folder / "ca.key", "-CAcreateserial", "-out", certificate,
                "-days", "2", "-extfile", self.folder / "extensions")
        return certificate, key


class Server(http.server.ThreadingHTTPServer):
    """An API server with no objects. `asked` has path, token and the client certificate's common name; `refused` tokens
    get a 401."""

    def __init__(self, authority, certificate, key):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.names, self.refused = [], [], set()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(authority.folder / "ca.pem")
        context.verify_mode = ssl.CERT_OPTIONAL
        context.sni_callback = lambda _, name, __: self.names.append(name)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # a client that rejects the certificate


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_PUT(self):
        self.do_GET()

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        shown = self.connection.getpeercert() if hasattr(self.connection, "getpeercert") else None
        common = dict(pair[0] for pair in shown["subject"])["commonName"] if shown else ""
        self.server.asked.append((self.path, token, common))
        inside = self.path.startswith(PREFIX + "/")
        status = 401 if token in self.server.refused else 200 if inside else 404
        body = json.dumps({"kind": "List", "metadata": {}, "items": []} if status == 200 else {"message": "Unauthorized" if status == 401 else "outside of the prefix"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def plugin(path, status, version="v1", before=""):
    """Writes an exec plugin; `status` is shell text with $n, the number of the run."""
    path.write_text(f"""#!/bin/sh
echo run >>{path}.runs
n=$(wc -l <{path}.runs)
{before}
cat <<END
{{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/{version}", "status": {status}}}
END
""")
    path.chmod(0o755)


def entry(kind, name, value):
    return {kind + "s": [{"name": name, kind: value}]}


def kubeconfig(path, cluster, user):
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "a"} | entry("context", "a", {"cluster": "a", "user": "a"}) |
                               entry("cluster", "a", cluster) | entry("user", "a", user)))
    return path


class Scene:
    def __init__(self, folder, binaries):
        self.folder, self.binaries = folder, binaries
        self.authority = Authority(folder)
        self.server = Server(self.authority, *self.authority.signed("server", "apiserver", "IP:127.0.0.1"))
        self.ca = base64.b64encode((folder / "ca.pem").read_bytes()).decode()

    def cluster(self, **more):
        return {"server": f"https://127.0.0.1:{self.server.server_port}{PREFIX}/", "certificate-authority-data": self.ca} | more

    def run(self, *words, server=None, **env):
        """Returns (exit code, output, requests to the server)."""
        server = server or self.server
        del server.asked[:], server.names[:]
        clean = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        done = subprocess.run([str(pathlib.Path(self.binaries, "wattle")), "provision", "restore", "--namespace", "shop", *map(str, words)], capture_output=True, text=True,
                              timeout=LATE_S, env=clean | {"PATH": "/usr/bin:/bin", "HOME": str(self.folder)} | env, check=False, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr, list(server.asked)

    def file(self, name, user, **more):
        return kubeconfig(self.folder / name, self.cluster(**more), user)


def exec_tokens(scene):
    """EKS and Rancher: expiring tokens. Each run prints a new token, which has already expired."""
    plugin(scene.folder / "login", '{"token": "token-$n-$1-$AWS_PROFILE", "expirationTimestamp": "2020-01-01T00:00:00Z"}')
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login", "args": ["shop"], "env": [{"name": "AWS_PROFILE", "value": "eu"}], "interactiveMode": "Never"}}
    code, said, asked = scene.run("--kubeconfig", scene.file("eks", user))
    check("the command reaches the API server", code == 0, said)
    check("every request is below the path", asked and all(path.startswith(f"{PREFIX}/api") for path, _, _ in asked), asked)
    tokens = [token for _, token, _ in asked]
    check("every request has the program's newest token", tokens and all(token == f"token-{i + 2}-shop-eu" for i, token in enumerate(tokens)), tokens)

    plugin(scene.folder / "aks", '{"token": "kept-$n"}', "v1beta1")
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "./aks", "args": None, "env": None, "provideClusterInfo": False}}
    scene.server.refused = {"kept-1"}
    code, said, asked = scene.run("--kubeconfig", scene.file("aks.conf", user))
    scene.server.refused = set()
    tokens = [token for _, token, _ in asked]
    check("a token without expiry is used until the server answers 401; then the plugin runs again", code == 0 and tokens[:2] == ["kept-1", "kept-2"] and
          set(tokens[1:]) == {"kept-2"}, (said, tokens))
    scene.server.refused = {f"kept-{n}" for n in range(10)}
    code, said, _ = scene.run("--kubeconfig", scene.folder / "aks.conf")
    scene.server.refused = set()
    check("a second refused login is reported", code == 1 and "Unauthorized" in said, said)


def exec_cluster_info(scene):
    """GKE: the plugin gets the cluster's information."""
    plugin(scene.folder / "gke", '{"token": "word"}', "v1beta1", before=f'printf %s "$KUBERNETES_EXEC_INFO" >{scene.folder}/info')
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "./gke", "installHint": "Install gke-gcloud-auth-plugin", "provideClusterInfo": True}}
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "abc"}}]
    code, said, _ = scene.run("--kubeconfig", scene.file("gke.conf", user, extensions=extensions))
    info = json.loads((scene.folder / "info").read_text())
    check("a plugin that requires the cluster's information gets it", code == 0 and info["apiVersion"] == "client.authentication.k8s.io/v1beta1" and info["spec"] == {
        "interactive": False, "cluster": {"server": f"https://127.0.0.1:{scene.server.server_port}{PREFIX}/", "certificate-authority-data": scene.ca, "config": {"audience": "abc"}}}, (said, info))


def exec_certificates(scene):
    """Teleport: a client certificate and tls-server-name; an expired certificate is replaced before the next
    request."""
    for number in (1, 2, 3, 4, 5):
        scene.authority.signed(f"client-{number}", f"client-{number}", "DNS:client")
    server = Server(scene.authority, *scene.authority.signed("named", "teleport", f"DNS:{NAME}"))
    quoted = "$(sed 's/$/\\\\n/' {0} | tr -d '\\n')"
    plugin(scene.folder / "tsh", '{"clientCertificateData": "%s", "clientKeyData": "%s", "expirationTimestamp": "2020-01-01T00:00:00Z"}' % (
        quoted.format(f"{scene.folder}/client-$n.pem"), quoted.format(f"{scene.folder}/client-$n.key")), "v1beta1")
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "./tsh"}}
    cluster = {"server": f"https://127.0.0.1:{server.server_port}{PREFIX}", "certificate-authority": "ca.pem"}
    code, said, _ = scene.run("--kubeconfig", kubeconfig(scene.folder / "other-name", cluster, user), server=server)
    check("a certificate for another name is rejected", code == 1 and "TLS: " in said, said)
    (scene.folder / "tsh.runs").unlink()
    code, said, asked = scene.run("--kubeconfig", kubeconfig(scene.folder / "teleport", cluster | {"tls-server-name": NAME}, user), server=server)
    names = [common for _, _, common in asked]
    check("tls-server-name is sent and must match the certificate", code == 0 and set(server.names) == {NAME}, (said, server.names))
    check("each request uses the newest certificate", names and names == [f"client-{i + 2}" for i in range(len(names))], names)
    server.shutdown()


def vendors(scene):
    """Kubeconfigs in the format of the vendors' commands, with fake plugins on the PATH that print the vendors'
    output."""
    tools = scene.folder / "tools"
    tools.mkdir()
    inside = {name: json.dumps((scene.folder / f"client-1.{end}").read_text())[1:-1] for name, end in (("certificate", "pem"), ("key", "key"))}
    for vendor, (of_exec, program, arguments, prints) in VENDORS.items():
        file, said_to = scene.folder / f"of-{vendor}", scene.folder / f"asked-{vendor}"
        name = f"arn:aws:eks:us-west-2:111122223333:cluster/{vendor}"  # EKS names all three so
        file.write_text(f"""apiVersion: v1
kind: Config
preferences: {{}}
clusters:
- cluster:
    certificate-authority-data: {scene.ca}
    server: https://127.0.0.1:{scene.server.server_port}{PREFIX}
  name: {name}
contexts:
- context:
    cluster: {name}
    user: {name}
    namespace: default
  name: {name}
current-context: {name}
users:
- name: {name}
  user:
    exec:{of_exec}""")
        code, said, asked = scene.run("--kubeconfig", file, PATH=str(tools / "none"))
        check(f"{vendor}: without its plugin the install hint is printed", code == 1 and not asked and program in said and "is not installed" in said and
              NOT_INSTALLED.get(vendor, "PATH") in said, said)
        token = f"token-{vendor.replace(' ', '-')}"
        answer = prints.replace("{token}", token).replace("{certificate}", inside["certificate"]).replace("{key}", inside["key"])
        (tools / f"{program}.answer").write_text(answer)
        (tools / program).write_text(f"""#!{sys.executable}
import json, os, pathlib, sys
pathlib.Path({str(said_to)!r}).write_text(json.dumps([sys.argv[1:], json.loads(os.environ["KUBERNETES_EXEC_INFO"]), os.environ.get("AWS_PROFILE"), sys.stdin.read()]))
sys.stdout.write(pathlib.Path({str(tools / program)!r} + ".answer").read_text())
""")
        (tools / program).chmod(0o755)
        code, said, asked = scene.run("--kubeconfig", file, PATH=str(tools))
        given, info, profile, stdin = json.loads(said_to.read_text())
        by_certificate = "{certificate}" in prints
        check(f"{vendor}: one login serves all requests", code == 0 and len(asked) > 1 and
              {pair[1:] for pair in asked} == {("", "client-1") if by_certificate else (token, "")}, (said, asked))
        check(f"{vendor}: the plugin gets its arguments and no input", given == arguments and stdin == "" and profile == ("prod" if vendor == "EKS" else None),
              (given, profile))
        check(f"{vendor}: the plugin gets the required version, and the cluster if requested", info["kind"] == "ExecCredential" and
              f"apiVersion: {info['apiVersion']}" in of_exec and info["spec"]["interactive"] is False and ("cluster" in info["spec"]) == ("provideClusterInfo: true" in of_exec), info)
        (tools / f"{program}.answer").write_text(answer.replace(info["apiVersion"], "client.authentication.k8s.io/v1alpha1"))
        code, said, asked = scene.run("--kubeconfig", file, PATH=str(tools))
        check(f"{vendor}: an answer in another version is refused with its version", code == 1 and not asked and "v1alpha1" in said, said)


def files(scene):
    """kubeadm: a client certificate, inline and in files next to the kubeconfig; tokenFile overrides token."""
    below = scene.folder / "below"
    below.mkdir()
    inline = {f"client-{name}-data": base64.b64encode((scene.folder / f"client-1.{end}").read_bytes()).decode() for name, end in (("certificate", "pem"), ("key", "key"))}
    code, said, asked = scene.run("--kubeconfig", kubeconfig(below / "inline", scene.cluster(), inline))
    check("an inline client certificate", code == 0 and {common for _, _, common in asked} == {"client-1"}, (said, asked))
    code, said, asked = scene.run("--kubeconfig", kubeconfig(below / "files", scene.cluster() | {"certificate-authority-data": None, "certificate-authority": "../ca.pem"},
                                                             {"client-certificate": "../client-2.pem", "client-key": "../client-2.key"}))
    check("a client certificate in a file next to the kubeconfig", code == 0 and {common for _, _, common in asked} == {"client-2"}, (said, asked))
    (below / "token").write_text("from-the-file\n")
    code, said, asked = scene.run("--kubeconfig", kubeconfig(below / "tokens", scene.cluster(), {"tokenFile": "token", "token": "beside"}))
    check("tokenFile overrides token", code == 0 and {token for _, token, _ in asked} == {"from-the-file"}, (said, asked))


def several(scene):
    """KUBECONFIG: the first file with a name wins; paths are relative to their file; --kubeconfig is a single file."""
    one, two = scene.folder / "one", scene.folder / "two"
    one.mkdir(), two.mkdir()
    (two / "token").write_text("of-two")
    (one / "config").write_text(json.dumps(entry("cluster", "a", scene.cluster()) | {"users": None, "contexts": []}))
    (two / "config").write_text(json.dumps({"current-context": "c"} | entry("user", "b", {"tokenFile": "token"}) | entry("context", "c", {"cluster": "a", "user": "b"}) |
                                           entry("cluster", "a", {"server": "https://127.0.0.1:1"})))
    listed = f"{scene.folder}/none:{one}/config::{two}/config"
    code, said, asked = scene.run(KUBECONFIG=listed)
    check("files of KUBECONFIG are one kubeconfig", code == 0 and {token for _, token, _ in asked} == {"of-two"}, (said, asked))
    code, said, _ = scene.run("--context", "d", KUBECONFIG=listed)
    check("an unknown context", code == 1 and "has no context 'd'" in said, said)
    code, said, asked = scene.run("--kubeconfig", scene.file("alone", {"token": "alone"}), KUBECONFIG=listed)
    check("--kubeconfig overrides KUBECONFIG", code == 0 and {token for _, token, _ in asked} == {"alone"}, (said, asked))
    (scene.folder / ".kube").mkdir()
    scene.file(".kube/config", {"token": "usual"})
    code, said, asked = scene.run()
    check("without either, the file in the home folder is used", code == 0 and {token for _, token, _ in asked} == {"usual"}, (said, asked))


def refusals(scene):
    """Unsupported features are refused with the reason."""
    def refused(claim, user, *words, cluster=None):
        code, said, asked = scene.run("--kubeconfig", kubeconfig(scene.folder / "refused", scene.cluster() | (cluster or {}), user))
        check(f"{claim}: {words[0]}", code == 1 and not asked and all(word in said for word in words), said)
    plugin_user = {"apiVersion": "client.authentication.k8s.io/v1", "command": "gke-gcloud-auth-plugin-of-nobody", "installHint": "Install it with:\n  apt install it"}
    refused("a missing plugin", {"exec": plugin_user}, "is not installed", "gke-gcloud-auth-plugin-of-nobody", "apt install it")
    refused("without a hint", {"exec": plugin_user | {"installHint": ""}}, "is not installed", "PATH")
    refused("an interactive plugin without a terminal", {"exec": plugin_user | {"interactiveMode": "Always", "command": "true"}}, "interactiveMode: Always", "terminal")
    refused("an old protocol version", {"exec": plugin_user | {"apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "v1alpha1", "update the plugin")
    (scene.folder / "fails").write_text("#!/bin/sh\necho 'log in first' >&2\nexit 4\n")
    (scene.folder / "fails").chmod(0o755)
    refused("a failing plugin", {"exec": plugin_user | {"command": "./fails"}}, "exit code 4", "log in first")
    refused("an auth-provider login", {"auth-provider": {"name": "gcp"}}, "auth-provider", "exec plugin")
    refused("impersonation", {"token": "word", "as": "somebody"}, "impersonated by as")
    refused("no server verification", {"token": "word"}, "insecure-skip-tls-verify", "certificate-authority", cluster={"insecure-skip-tls-verify": True})
    refused("a token over plain HTTP", {"token": "word"}, "would be sent unencrypted", "https://", cluster={"server": "http://192.0.2.1:8080"})
    refused("a proxy before the API server", {"token": "word"}, "proxy-url", cluster={"proxy-url": "https://proxy.example"})


def main():
    binaries = binaries_from(sys.argv)
    with tempfile.TemporaryDirectory(prefix="wattle-kubeconfig-") as made:
        scene = Scene(pathlib.Path(made), binaries)
        for part in (exec_tokens, exec_cluster_info, exec_certificates, vendors, files, several, refusals):
            part(scene)
        scene.server.shutdown()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
