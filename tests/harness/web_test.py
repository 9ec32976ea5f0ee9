#!/usr/bin/env python3
"""web_test: runs scripts/web against a fake registry and checks what it fetches and refuses.

Usage    web_test.py
"""
import base64
import hashlib
import http.server
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
failed = 0


def claim(what, holds, seen=""):
    global failed
    print(("ok   " if holds else "FAIL ") + what + ("" if holds else f": {seen}"), flush=True)
    failed += not holds


def package(**files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name.replace('_', '.')}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return data.getvalue()


class Registry(http.server.BaseHTTPRequestHandler):
    files, asked = {}, []

    def do_GET(self):
        Registry.asked.append(self.path)
        data = Registry.files.get(self.path)
        self.send_response(200 if data else 404)
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


def locked(version, data, dev):
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    return {"version": version, "integrity": integrity} | ({"dev": True} if dev else {})


def main():
    plot, browser = package(package_json=b"{}", LICENSE=b"as is"), package(package_json=b"{}", cli_js=b"run")
    Registry.files = {"/plot/-/plot-1.0.0.tgz": plot, "/@scope/browser/-/browser-2.0.0.tgz": browser}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="wattle-web-") as temporary:
        tree, place = pathlib.Path(temporary, "tree"), pathlib.Path(temporary, "place")
        (tree / "scripts").mkdir(parents=True)
        (tree / "web").mkdir()
        shutil.copy(ROOT / "scripts" / "web", tree / "scripts" / "web")
        (tree / "web" / "package.json").write_text("{}")

        def lock(plot_bytes):
            packages = {"": {}, "node_modules/plot": locked("1.0.0", plot_bytes, False), "node_modules/@scope/browser": locked("2.0.0", browser, True)}
            (tree / "web" / "package-lock.json").write_text(json.dumps({"packages": packages}))

        def run(*arguments, registry=f"http://127.0.0.1:{server.server_port}/", home=temporary, **env):
            env = {"PATH": "/usr/bin:/bin", "HOME": home, "WATTLE_WEB": str(place), "NPM_CONFIG_REGISTRY": registry} | env
            done = subprocess.run([sys.executable, tree / "scripts" / "web", *arguments], capture_output=True, text=True, check=False, env=env)
            return done.returncode, done.stdout + done.stderr

        lock(b"other bytes")
        code, said = run()
        claim("a package with another checksum is refused", code == 1 and "do not use it" in said and not (place / "node_modules/plot").exists(), said)
        lock(plot)
        code, said = run(registry="http://127.0.0.1:1/")
        claim("the error names a registry that does not answer, and the setting", code == 1 and "127.0.0.1:1" in said and "NPM_CONFIG_REGISTRY" in said, said)
        code, said = run()
        claim("build dependencies of the page are fetched", code == 0 and (place / "node_modules/plot/LICENSE").read_bytes() == b"as is", said)
        claim("dependencies of tests are not fetched", not (place / "node_modules/@scope").exists())
        before = len(Registry.asked)
        code, said = run()
        claim("existing packages are not fetched again", code == 0 and len(Registry.asked) == before, said)
        shutil.rmtree(place)
        pathlib.Path(temporary, ".npmrc").write_text(f"fund=false\nregistry=http://127.0.0.1:{server.server_port}\n")
        code, said = run("--test", registry="")
        claim("--test fetches the rest, from the registry of ~/.npmrc", code == 0 and (place / "node_modules/@scope/browser/cli.js").exists() and
              (place / "node_modules/plot/LICENSE").exists(), said)
        claim("no incomplete package folder is left", sorted(os.listdir(place)) == ["node_modules", "package.json"], os.listdir(place))
    server.shutdown()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
