"""registry: serves an OCI layout on loopback as the registry of a container runtime, for image names of any registry.

Source   a folder written by Buildah.layout: index.json by full names, blobs by digest
Answers  /v2/NAME/manifests/TAG-OR-DIGEST and /v2/NAME/blobs/DIGEST, GET and HEAD; `ns`, which containerd sends to a
         mirror, is the registry of the name
Ends     with the `with` block
"""
import hashlib
import http.server
import json
import pathlib
import re
import shutil
import threading
import urllib.parse


class Registry:
    def __init__(self, layout):
        self.blobs = pathlib.Path(layout) / "blobs/sha256"
        manifests = json.loads((pathlib.Path(layout) / "index.json").read_text(encoding="utf-8"))["manifests"]
        self.types = {m["digest"]: m["mediaType"] for m in manifests}
        self.digests = {m["annotations"]["org.opencontainers.image.ref.name"]: m["digest"] for m in manifests}
        self.key = hashlib.sha256(json.dumps(self.digests, sort_keys=True).encode()).hexdigest()[:16]
        self.asked = set()  # requests for unknown content

    def __enter__(self):
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # pylint: disable=invalid-name
                registry.answer(self)

            do_HEAD = do_GET

            def log_message(self, format, *args):  # pylint: disable=redefined-builtin
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port = self.server.server_address[1]
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        url = urllib.parse.urlparse(request.path)
        asked = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/]+)", url.path)
        digest = None
        if asked:
            space = urllib.parse.parse_qs(url.query).get("ns", [""])[0]
            what = asked.group(3)
            digest = what if what.startswith("sha256:") else self.digests.get(f"{space}/{asked.group(1)}:{what}")
        path = self.blobs / (digest or "").removeprefix("sha256:")
        found = bool(digest) and path.is_file()
        if asked and not found:
            self.asked.add(request.path)
        request.send_response(200 if found or url.path in ("/v2", "/v2/") else 404)
        request.send_header("Content-Length", str(path.stat().st_size if found else 0))
        if found:
            request.send_header("Content-Type", self.types.get(digest, "application/octet-stream"))
            request.send_header("Docker-Content-Digest", digest)
        request.end_headers()
        if found and request.command == "GET":
            with open(path, "rb") as file:
                shutil.copyfileobj(file, request.wfile, 1 << 20)
