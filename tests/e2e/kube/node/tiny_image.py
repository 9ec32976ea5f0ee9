"""tiny_image: an OCI layout of one image under several names, without an image tool: one static program that waits.

Gives    the folder that registry.Registry serves
Errors   HouseError without a C compiler
"""
import hashlib
import io
import json
import pathlib
import shutil
import subprocess
import tarfile

from house import HouseError

WAITS = "#include <signal.h>\n#include <unistd.h>\nstatic void end(int s) { (void)s; _exit(0); }\nint main(void) { signal(SIGTERM, end); for (;;) pause(); }\n"


def layout(folder, names):
    folder = pathlib.Path(folder)
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise HouseError("no C compiler")
    (folder / "pause.c").write_text(WAITS, encoding="utf-8")
    subprocess.run([compiler, "-static", "-Os", "-s", "-o", str(folder / "pause"), str(folder / "pause.c")], check=True)

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo("pause")
        data = (folder / "pause").read_bytes()
        entry.size, entry.mode = len(data), 0o755
        tar.addfile(entry, io.BytesIO(data))
    layer = blob(archive.getvalue(), "layer.v1.tar")
    config = blob(json.dumps({"architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/pause"]},
                              "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}).encode(), "config.v1+json")
    kind = "manifest.v1+json"
    manifest = blob(json.dumps({"schemaVersion": 2, "mediaType": f"application/vnd.oci.image.{kind}", "config": config, "layers": [layer]}).encode(), kind)
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [
        manifest | {"annotations": {"org.opencontainers.image.ref.name": name}} for name in names]}), encoding="utf-8")
    return folder
