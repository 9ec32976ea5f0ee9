"""oci: writes multi-architecture images as one archive each, by the OCI image specification. Same files, same bytes.

Units    dates in Unix seconds; sizes in bytes
"""
import datetime
import hashlib
import io
import json
import tarfile
import zlib

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
GZIP = 16 + zlib.MAX_WBITS  # gzip format, without name and date in the header


def member(name, epoch, mode, kind=tarfile.REGTYPE, size=0, link=""):
    info = tarfile.TarInfo(name)
    info.mtime, info.mode, info.type, info.size, info.linkname = epoch, mode, kind, size, link
    return info


def layer(files, epoch):
    """Returns (compressed bytes, digest of the uncompressed tar). `files` maps a path to its bytes, to a str for a link
    target, or to None for a folder. ELF files become executable."""
    folders = {}
    for name in files:
        parts = name.split("/")
        folders |= {"/".join(parts[:depth]): None for depth in range(1, len(parts))}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted({**folders, **files}.items()):
            if content is None:
                tar.addfile(member(name, epoch, 0o1777 if name == "tmp" else 0o755, tarfile.DIRTYPE))
            elif isinstance(content, str):
                tar.addfile(member(name, epoch, 0o777, tarfile.SYMTYPE, link=content))
            else:
                tar.addfile(member(name, epoch, 0o755 if content[:4] == b"\x7fELF" else 0o644, size=len(content)), io.BytesIO(content))
    text = out.getvalue()
    packer = zlib.compressobj(9, zlib.DEFLATED, GZIP)
    return packer.compress(text) + packer.flush(), "sha256:" + hashlib.sha256(text).hexdigest()


class Archive:
    """Deduplicated blobs, and one multi-architecture image that refers to them."""

    def __init__(self):
        self.blobs, self.manifests = {}, []

    def add(self, content, kind, **more):
        if not isinstance(content, bytes):
            content = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content), **more}

    def image(self, layers, config, platform, epoch):
        """Adds an image and returns its compressed size. `layers`: (compressed bytes, digest of the tar,
        description)."""
        created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        about = self.add({**platform, "created": created, "config": config, "rootfs": {"type": "layers", "diff_ids": [digest for _, digest, _ in layers]},
                          "history": [{"created": created, "created_by": what} for _, _, what in layers]}, CONFIG)
        blobs = [self.add(content, LAYER) for content, _, _ in layers]
        self.manifests.append(self.add({"schemaVersion": 2, "mediaType": MANIFEST, "config": about, "layers": blobs}, MANIFEST, platform=platform))
        return sum(blob["size"] for blob in blobs)

    def write(self, path, version, epoch):
        """Writes the archive and returns the digest of the index, which identifies the image on all architectures."""
        index = self.add({"schemaVersion": 2, "mediaType": INDEX, "manifests": self.manifests}, INDEX, annotations={"org.opencontainers.image.ref.name": version})
        files = {f"blobs/sha256/{digest}": content for digest, content in self.blobs.items()}
        files["oci-layout"] = b'{"imageLayoutVersion":"1.0.0"}'
        files["index.json"] = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [index]}, sort_keys=True).encode()
        with tarfile.open(path, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for folder in ("blobs", "blobs/sha256"):
                tar.addfile(member(folder, epoch, 0o755, tarfile.DIRTYPE))
            for name, content in sorted(files.items()):
                tar.addfile(member(name, epoch, 0o644, size=len(content)), io.BytesIO(content))
        return index["digest"]


def digest_of(path):
    """Digest of the image in an archive that write() created."""
    with tarfile.open(path) as tar:
        return json.loads(tar.extractfile("index.json").read())["manifests"][0]["digest"]
