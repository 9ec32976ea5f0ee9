"""wattle_there: `wattle` as its operator runs it: with the key that the Job left in a Secret, through a port that leads to the controller.

Errors   HouseError with what `wattle` said
"""
import base64
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from house import HouseError  # noqa: E402


class WattleThere:
    def __init__(self, binaries, plane, port):
        self.wattle, self.server = pathlib.Path(binaries) / "wattle", f"tcp://127.0.0.1:{port}"
        self.key, self.server_key = plane.dir / "operator.key", plane.dir / "controller.pub"
        secret = plane.call("GET", "/api/v1/namespaces/wattle/secrets/wattle-operator")["data"]
        self.key.write_bytes(base64.b64decode(secret["operator.key"]))
        self.key.chmod(0o400)
        self.server_key.write_text(plane.call("GET", "/api/v1/namespaces/wattle/configmaps/wattle-public")["data"]["controller.pub"], encoding="utf-8")

    def __call__(self, *words, timeout=60):
        ran = subprocess.run([self.wattle, "--server", self.server, "--key", self.key, "--server-key", self.server_key, "--timeout", "30s", *words],
                             capture_output=True, text=True, timeout=timeout, check=False)
        return ran.returncode, ran.stdout, ran.stderr

    def query(self, *words):
        code, said, complaint = self(*words, "-o", "json")
        if code != 0:
            raise HouseError(f"wattle {' '.join(words)}: exit {code}: {complaint[-500:]}")
        return json.loads(said)
