#!/usr/bin/env python3
"""cluster_login_test: `wattle --context` against a real controller and an API server in Python. A person reads with a key
that the controller admits for minutes by a token of the cluster; the command logs in again while it runs; each refusal
names its fix, and admits no key.

A script replaces kubectl and reports the controller's own ports as the forwarded ones. tests/e2e/cluster/running.py uses
the real programs.

Usage    cluster_login_test.py FOLDER-OF-BINARIES
"""
import base64
import http.server
import json
import os
import subprocess
import sys
import threading
import time

from demo_run import Claims
from house import CLI_TIMEOUT, House, binaries_from, free_ports, wait_until
from patience import FACTOR, LATE_S, pace

ACCOUNT = "/api/v1/namespaces/wattle/serviceaccounts/wattle-reader/token"
USER = "system:serviceaccount:wattle:wattle-reader"
KUBECTL = """#!/bin/sh
echo "$@" >{folder}/kubectl.words
for pair in {ask}:7462 {feed}:7461 {enrol}:7463; do echo "Forwarding from 127.0.0.1:${{pair%:*}} -> ${{pair#*:}}"; done
exec sleep 1000
"""


def encoded(document):
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


class Api(http.server.ThreadingHTTPServer):
    """An API server that issues and reviews tokens of one account. `asked` has each request's method, path and body."""
    daemon_threads = True

    def __init__(self, public):
        super().__init__(("127.0.0.1", 0), Answer)
        self.public = public  # the ConfigMap's data
        self.asked, self.issued = [], []
        self.issue, self.review = 201, 201  # status of the two requests
        self.life_s, self.audience, self.user = 600, "wattle", USER
        self.broken = None  # replaces the token
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def requests(self, method, path):
        return [body for way, where, body in list(self.asked) if (way, where) == (method, path)]

    def new_token(self):
        claims = {"aud": [self.audience], "sub": USER, "exp": int(time.time()) + self.life_s, "jti": str(len(self.issued))}
        self.issued.append(f"{encoded({'alg': 'none'})}.{encoded(claims)}.c2ln")
        return self.issued[-1]

    def status_of(self, token):
        if token not in self.issued:
            return {"error": "invalid bearer token"}
        return {"authenticated": True, "audiences": ["wattle"], "user": {"username": self.user}}


class Answer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, code, document):
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        self.server.asked.append(("GET", path, None))
        if path.endswith("/configmaps/wattle-public"):
            return self.answer(200, {"kind": "ConfigMap", "data": self.server.public})
        if "watch=1" in query:
            self.send_response(200)
            self.end_headers()
            return pace(300)
        if path in ("/api/v1/nodes", "/api/v1/pods"):
            return self.answer(200, {"metadata": {"resourceVersion": "7"}, "items": []})
        self.answer(404, {"kind": "Status", "message": f"{path} not found"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(("POST", self.path, body))
        if self.path == ACCOUNT:
            if self.server.issue == 403:
                return self.answer(403, {"message": 'serviceaccounts "wattle-reader" is forbidden: User "ann" cannot create resource "serviceaccounts/token"'})
            if self.server.issue != 201:
                return self.answer(self.server.issue, {"message": 'serviceaccounts "wattle-reader" not found'})
            return self.answer(201, {"kind": "TokenRequest", "status": {"token": self.server.broken or self.server.new_token()}})
        if self.path == "/apis/authentication.k8s.io/v1/tokenreviews":
            return self.answer(self.server.review, {"kind": "TokenReview", "status": self.server.status_of(body["spec"]["token"]) if self.server.review == 201 else "Failure"})
        self.answer(404, {"message": "not found"})


class Desk:
    """The environment of wattle: a kubeconfig and a script as kubectl."""

    def __init__(self, house, api, enrol):
        self.house = house
        self.folder = house.dir / "desk"
        self.folder.mkdir()
        kubectl = self.folder / "kubectl"
        kubectl.write_text(KUBECTL.format(folder=self.folder, ask=house.ask, feed=house.feed, enrol=enrol), encoding="utf-8")
        kubectl.chmod(0o755)
        config = self.folder / "kubeconfig"
        config.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{api.server_port}"}}],
                                      "users": [{"name": "ann", "user": {"token": "of-ann"}}], "contexts": [{"name": "there", "context": {"cluster": "c", "user": "ann"}}]}))
        config.chmod(0o600)
        self.environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(self.folder), "KUBECONFIG": str(config), "TMPDIR": str(self.folder)}

    def words(self, *words):
        return [self.house.binary("wattle"), "--context", "there", "--timeout", CLI_TIMEOUT, *words]

    def run(self, *words):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, check=False, timeout=LATE_S, env=self.environment)
        return done.returncode, done.stdout + done.stderr


def reads(claims, house, api, desk):
    code, said = desk.run("nodes", "-o", "json")
    claims.check("a login by the cluster reads the nodes", code == 0 and json.loads(said)["nodes"], said)
    words = (desk.folder / "kubectl.words").read_text(encoding="utf-8")
    claims.check("kubectl forwards the ports of questions, feed and enrolment", words.endswith("service/wattle-controller :7462 :7461 :7463\n"), words)
    asked = api.requests("POST", ACCOUNT)[-1]["spec"]
    claims.check("the token is for Wattle alone, for ten minutes", asked == {"audiences": ["wattle"], "expirationSeconds": 600}, asked)
    reviewed = api.requests("POST", "/apis/authentication.k8s.io/v1/tokenreviews")[-1]["spec"]
    claims.check("the controller has the token reviewed for its audience", reviewed == {"token": api.issued[-1], "audiences": ["wattle"]}, reviewed)
    claims.check("no Secret is read", not [path for _, path, _ in api.asked if "/secrets/" in path], api.asked)
    claims.check("neither log contains the token", api.issued[-1] not in house.log("controller") + said)
    claims.check("the command leaves no file behind", sorted(os.listdir(desk.folder)) == ["kubeconfig", "kubectl", "kubectl.words"], os.listdir(desk.folder))
    code, said = desk.run("policy", "set", "--mode", "off", "--why", "a test")
    claims.check("a reader changes nothing", code != 0 and "needs role operator" in said, said)


def refusals(claims, api, desk):
    def refused(claim, *words):
        code, said = desk.run("nodes")
        claims.check(claim, code != 0 and all(word in said for word in words), f"{code}: {said}")
    api.issue = 403
    refused("without the Role, the error names it", "is forbidden", "bind the Role wattle-reader to your user")
    api.issue = 404
    refused("a cluster without the account has no Wattle of this version", "install or upgrade Wattle")
    api.issue = 201
    api.user = "system:serviceaccount:shop:web"
    refused("a token of another user admits no key", "belongs to another user")
    api.user, api.audience = USER, "other"
    refused("a token for another audience admits no key", "for another audience than wattle")
    api.audience, api.life_s = "wattle", -5
    refused("an expired token admits no key", "has expired")
    api.life_s, api.review = 600, 403
    refused("a controller that may not review tokens says so", "HTTP 403", "allows creating tokenreviews")
    api.review = 201
    wait_until("reviews work again after the pause", lambda: desk.run("nodes")[0] == 0)
    api.broken = "two\r\nlines"
    refused("an answer without a token is refused", "contains no token")
    api.broken = None
    public = dict(api.public)
    api.public["ca.pem"] = ""
    refused("without the controller's certificate no token is sent", "has no certificate in ca.pem")
    api.public.update(public)


def follows(claims, api, desk):
    """A command that runs longer than its first login."""
    api.life_s = int(12 * FACTOR)
    before = len(api.requests("POST", ACCOUNT))
    process = subprocess.Popen(desk.words("nodes", "-w"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=desk.environment)
    wait_until("the command logs in twice more", lambda: process.poll() is not None or len(api.requests("POST", ACCOUNT)) >= before + 3, LATE_S + 3 * api.life_s)
    claims.check("a command that outlives its first login goes on", process.poll() is None, process.poll() is not None and process.stderr.read())
    api.issue = 403
    said = process.communicate(timeout=LATE_S + 3 * api.life_s)[1]
    claims.check("without the permission it ends when its login does", process.returncode != 0 and "bind the Role wattle-reader" in said, f"{process.returncode}: {said}")
    api.issue = 201


def main():
    binaries = binaries_from(sys.argv)
    claims = Claims()
    enrol, = free_ports(1)
    public = {}
    api = Api(public)
    extra = f"""kubernetes: {{server: "http://127.0.0.1:{api.server_port}", watch: "on"}}
            enrol:
              port: {enrol}
              tls: {{certificate: DIR/tls.crt, key: DIR/tls.key}}
              kubernetes: {{reader: wattle/wattle-reader}}"""
    with House(binaries) as house:
        config = house.dir / "controller.yaml"
        config.write_text(config.read_text() + "\n".join(line.removeprefix(" " * 12) for line in extra.replace("DIR", str(house.dir)).splitlines()) + "\n")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", house.dir / "tls.key", "-out", house.dir / "tls.crt", "-days", "2",
                        "-subj", "/CN=wattle-controller", "-addext", "subjectAltName=DNS:wattle-controller.wattle.svc"], check=True, capture_output=True)
        (house.dir / "tls.key").chmod(0o400)
        public.update({"controller.pub": (house.dir / "controller.key.pub").read_text(), "ca.pem": (house.dir / "tls.crt").read_text()})
        list_before = (house.dir / "allow").read_text()
        desk = Desk(house, api, enrol)
        house.start_controller()
        house.start_agent()
        wait_until("the agent is connected", house.connected)
        reads(claims, house, api, desk)
        refusals(claims, api, desk)
        follows(claims, api, desk)
        claims.check("the allow list is unchanged", (house.dir / "allow").read_text() == list_before)
    api.shutdown()
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
