"""wattle_there: runs `wattle` as an operator does: with the key that the Job stored in a Secret, through a port to the
controller.

Errors   HouseError with the last output of `wattle`
"""
import base64
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from house import HouseError, wait_until  # noqa: E402
from patience import AGES_S  # noqa: E402


PATIENCE = AGES_S  # a controller on an emulated processor may answer late


class WattleThere:
    def __init__(self, binaries, plane, port):
        self.wattle, self.server = pathlib.Path(binaries) / "wattle", f"tcp://127.0.0.1:{port}"
        self.key, self.server_key = plane.dir / "operator.key", plane.dir / "controller.pub"
        secret = plane.call("GET", "/api/v1/namespaces/wattle/secrets/wattle-operator")["data"]
        self.key.write_bytes(base64.b64decode(secret["operator.key"]))
        self.key.chmod(0o400)
        self.server_key.write_text(plane.call("GET", "/api/v1/namespaces/wattle/configmaps/wattle-public")["data"]["controller.pub"], encoding="utf-8")

    def __call__(self, *words):
        """Returns its output, once the controller answers."""
        def asked():
            ran = subprocess.run([self.wattle, "--server", self.server, "--key", self.key, "--server-key", self.server_key, "--timeout", "30s", *words],
                                 capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                raise HouseError(f"exit {ran.returncode}: {ran.stderr[-500:]}")
            return ran.stdout
        return wait_until(f"wattle {' '.join(words)} answers", asked, PATIENCE)

    def query(self, *words):
        return json.loads(self(*words, "-o", "json"))
