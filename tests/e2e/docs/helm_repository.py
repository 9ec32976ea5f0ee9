"""helm_repository: serves the files of a release with its Helm repository on loopback, as the web server of the install
pages would.

Source   scripts/release, on this tree; the chart names images by tag
Errors   HouseError with the script's output
"""
import contextlib
import functools
import http.server
import os
import pathlib
import subprocess
import threading

from house import HouseError

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """Yields the base URL."""
    made = subprocess.run([ROOT / "scripts/release", "--no-build", "chart", "helm"], env=os.environ | {"WATTLE_RELEASE": str(folder)},
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise HouseError(f"scripts/release: {made.stdout}{made.stderr}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
