"""left_out: builds a small stub library that replaces the libraries which libtorch links but Wattle never calls.

Debian's libtorch is built with Caffe2's image, video and database readers and with transports for distributed training.
OpenCV, FFmpeg and their dependencies (Qt, GDAL, ICU, video codecs) are 250 of the 290 libraries that the loader would
map, and more than half of their bytes. libtorch binds at start, so every symbol that it references must exist. The stub
defines each as a function that prints an error and aborts. tests/e2e/images runs the networks' tests with the stub.
"""
import re

from closure import ImageError, said

LEFT_OUT = re.compile(r"(libopencv_\w+|libav(codec|format|util)|libsw(scale|resample)|libgloo|libtensorpipe|liblmdb|libleveldb|libsnappy|libzmq)\.so\..*")
NAME = "libwattle-left-out.so"
SOURCE = """\
#include <stdlib.h>
#include <unistd.h>
__attribute__((noreturn, used)) void wattle_left_out(void) {
  static const char text[] = "a part of libtorch was called that Wattle's images leave out (k8s/images/left_out.py)\\n";
  if (write(2, text, sizeof text - 1)) {}
  abort();
}
"""


def symbols(path):
    """Yields (name, version, kind, binding, size, is defined here) for each dynamic symbol."""
    for line in said("readelf", "--dyn-syms", "-W", path).splitlines():
        words = line.split()
        if len(words) >= 8 and words[0].rstrip(":").isdigit() and words[4] in ("GLOBAL", "WEAK", "UNIQUE"):
            name, _, version = words[7].partition("@")
            yield name, version, words[3], words[4], int(words[2], 0), words[6] != "UND"


def make(root, kept, out, target, to):
    """Writes the stub to `to` and returns its number of symbols. `kept`: files in the image; `out`: sonames left
    out."""
    defined, wanted = set(), {}
    for path in kept:
        for name, version, _, binding, _, here in symbols(path):
            if here:
                defined.add(name)
            elif binding != "WEAK":
                wanted[name] = version
    missing = wanted.keys() - defined
    versioned = sorted(name for name in missing if wanted[name])
    if versioned:
        raise ImageError(f"{versioned[0]} is asked for as {wanted[versioned[0]]}, and no version is in {NAME}: k8s/images/left_out.py leaves out too much")
    there = {}
    for soname in sorted(out):
        path = root.library(soname)
        if path is None:
            raise ImageError(f"{soname} is not below {root.folder}: install its package (scripts/setup --release)")
        for name, _, kind, _, size, here in symbols(path):
            if here and name in missing:
                there.setdefault(name, (kind, size))
    unknown = sorted(missing - there.keys())
    if unknown:
        raise ImageError(f"no library has {unknown[0]} ({len(unknown)} such symbols): k8s/images/left_out.py leaves out too much")
    lines = []
    for name, (kind, size) in sorted(there.items()):
        if kind in ("FUNC", "IFUNC"):
            lines.append(f".globl {name}; .type {name}, %function; .set {name}, wattle_left_out")
        else:
            lines.append(f".globl {name}; .type {name}, %object; .size {name}, {max(size, 8)}; .pushsection .bss; .balign 32; {name}: .zero {max(size, 8)}; .popsection")
    source = to.with_suffix(".c")
    source.write_text(SOURCE + "".join(f'__asm__("{line}");\n' for line in lines), encoding="utf-8")
    said("clang", f"--target={target}", *([f"--sysroot={root.folder}"] if str(root.folder) != "/" else []), "-shared", "-fPIC", "-O1", "-fuse-ld=mold", "-Wl,-z,relro,-z,now",
         f"-Wl,-soname,{NAME}", "-Wl,--build-id=none", "-o", to.name, source.name, cwd=to.parent)
    said("llvm-strip", to)
    return len(there)
