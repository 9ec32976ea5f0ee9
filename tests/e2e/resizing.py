"""resizing: an API server with one Deployment's pod, and a controller page that suggests another request for it, for
tests of `wattle provision set`.

Source   the Kubernetes fields that the command reads; written by hand
Ends     with the `with` block
"""
import base64
import contextlib
import http.server
import json
import pathlib
import ssl
import subprocess
import tempfile
import threading

PREFIX = "/k8s/clusters/c-m-4x7k"  # as in Rancher
OF_CPU = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 20,
    "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}]}}
SUGGESTED = {"level": "requests", "workloads": [{"workload": "shop/Deployment/web", "namespace": "shop", "owner": "Deployment/web", "pod_uids": ["u1"],
                                                 "rule": {"cpu_cores": 0.9, "memory_bytes": None}}]}


def web_pod():
    requests = {"requests": {"cpu": "500m", "memory": "256Mi"}}
    return {"metadata": {"name": "web-5f7c9d-abcde", "namespace": "shop", "uid": "u1", "resourceVersion": "7", "generation": 1, "annotations": {},
                         "ownerReferences": [{"kind": "ReplicaSet", "name": "web-5f7c9d", "controller": True}]},
            "spec": {"nodeName": "n1", "containers": [{"name": "web", "resources": requests}]},
            "status": {"phase": "Running", "qosClass": "Burstable", "startTime": "2026-01-01T00:00:00Z", "containerStatuses": [{"name": "web", "resources": requests}]}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")

    def answer(self, code, document):
        text = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def path_of(self):
        """Returns the path without the kubeconfig's prefix; None if it is outside of it."""
        path = self.path.split("?")[0]
        if self.server.page:
            return path
        return path.removeprefix(PREFIX) if path.startswith(PREFIX + "/") else None

    def do_GET(self):
        path, world = self.path_of(), self.server.world
        if path is None:
            return self.answer(404, {"message": "outside of the prefix"})
        if self.server.page:
            return self.answer(200, SUGGESTED)
        if path.endswith("/pods"):
            return self.answer(200, {"kind": "PodList", "metadata": {}, "items": [world.pod]})
        if "horizontalpodautoscalers" in path:
            return self.answer(200, {"metadata": {}, "items": world.autoscalers})
        if path in world.config_maps:
            return self.answer(200, world.config_maps[path])
        return self.answer(404, {"message": "the server could not find the requested resource"})

    def do_POST(self):
        document = self.body()
        document["metadata"]["resourceVersion"] = "1"
        self.server.world.config_maps[f"{self.path_of()}/{document['metadata']['name']}"] = document
        self.answer(201, document)

    def do_PUT(self):
        self.server.world.config_maps[self.path_of()] = document = self.body()
        self.answer(200, document)

    def do_PATCH(self):
        world, patch = self.server.world, self.body()
        world.patches.append((self.path_of(), patch))
        world.pod["spec"]["containers"][0]["resources"] = patch["spec"]["containers"][0]["resources"]
        self.answer(200, world.pod)


class Resizing:
    def __init__(self, autoscalers=()):
        self.pod, self.autoscalers, self.config_maps, self.patches = web_pod(), list(autoscalers), {}, []

    def serve(self, page):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads, server.page, server.world = True, page, self
        if not page:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.folder / "c.pem", self.folder / "k.pem")
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.stack.callback(server.shutdown)
        return server.server_port

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="wattle-resizing-")))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "k.pem", "-out", self.folder / "c.pem", "-days", "2",
                        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:TRUE"], check=True, capture_output=True)
        self.kubeconfig, self.page = self.folder / "kubeconfig", f"http://127.0.0.1:{self.serve(page=True)}"
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": f"https://127.0.0.1:{self.serve(page=False)}{PREFIX}",
                                                   "certificate-authority-data": base64.b64encode((self.folder / "c.pem").read_bytes()).decode()}}],
            "users": [{"name": "a", "user": {"token": "t"}}]}))
        return self

    def __exit__(self, *_):
        self.stack.close()

    def requested(self):
        return self.pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
