#!/usr/bin/env python3
"""A kubeconfig as Rancher, Teleport, EKS, GKE and AKS give it: the server's path stands before every request, and the token is that of the
program which the kubeconfig names, which is asked again once the token has expired.

Usage    kubeconfig_test.py FOLDER-OF-BINARIES"""
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

PREFIX = "/k8s/clusters/c-m-4x7k"
failures = 0


def check(claim, truth, said=""):
    global failures
    failures += 0 if truth else 1
    print(("ok      " if truth else "FAILED  ") + claim + ("" if truth else f"\n        {said}"), flush=True)


class Server(http.server.ThreadingHTTPServer):
    """An API server with no nodes; it lets in the tokens that the program gives, each for one request."""
    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "k.pem", "-out", folder / "c.pem", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:TRUE"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "c.pem", folder / "k.pem")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_PUT(self):
        self.do_GET()

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        body = json.dumps({"kind": "List", "metadata": {}, "items": []} if self.path.startswith(PREFIX + "/") else {"message": "outside of the prefix"}).encode()
        self.send_response(200 if self.path.startswith(PREFIX + "/") else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def plugin(folder):
    """Each run gives another token, which has expired already."""
    path = folder / "login"
    path.write_text(f"""#!/bin/sh
echo run >>{folder}/runs
n=$(wc -l <{folder}/runs)
cat <<END
{{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {{"token": "token-$n-$1", "expirationTimestamp": "2020-01-01T00:00:00Z"}}}}
END
""")
    path.chmod(0o755)


def kubeconfig(folder, server):
    path = folder / "kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": f"https://127.0.0.1:{server.server_port}{PREFIX}/",
                                               "certificate-authority-data": base64.b64encode((folder / "c.pem").read_bytes()).decode()}}],
        "users": [{"name": "a", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login", "args": ["shop"], "interactiveMode": "Never"}}}]}))
    return path


def main():
    binaries = binaries_from(sys.argv)
    with tempfile.TemporaryDirectory(prefix="wattle-kubeconfig-") as made:
        folder = pathlib.Path(made)
        server = Server(folder)
        plugin(folder)
        done = subprocess.run([str(pathlib.Path(binaries, "wattle")), "provision", "restore", "--namespace", "shop", "--kubeconfig", str(kubeconfig(folder, server))],
                              capture_output=True, text=True, timeout=LATE_S, env=os.environ | {"PATH": "/usr/bin:/bin"}, check=False)
        check("the command reaches the API server", done.returncode == 0, done.stderr)
        check("every request is below the path", server.asked and all(path.startswith(f"{PREFIX}/api") for path, _ in server.asked), server.asked)
        tokens = [token for _, token in server.asked]
        check("every request has the program's newest token", tokens and all(token == f"Bearer token-{i + 2}-shop" for i, token in enumerate(tokens)), tokens)
        (folder / "login").write_text("#!/bin/sh\necho 'log in first' >&2\nexit 4\n")
        failed = subprocess.run([str(pathlib.Path(binaries, "wattle")), "provision", "restore", "--namespace", "shop", "--kubeconfig", str(folder / "kubeconfig")],
                                capture_output=True, text=True, timeout=LATE_S, check=False)
        check("a program that fails is named, and its words are shown", failed.returncode == 1 and "log in first" in failed.stderr and "exit code 4" in failed.stderr, failed.stderr)
        server.shutdown()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
