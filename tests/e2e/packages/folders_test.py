#!/usr/bin/env python3
"""folders_test: builds are identical in different folders. Compiles and links a small program of common/stats in two
folders with the options of this build, including debug symbols and paths in asserts. Without path mapping the results
differ, which shows that the comparison works.

Usage    folders_test.py FOLDER-OF-THE-BUILD
Exit     0 fine, 1 a claim failed
"""
import json
import pathlib
import re
import shlex
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
from debs import output  # noqa: E402
from demo_run import Claims  # noqa: E402

MAIN = '#include <cassert>\nint main(int count, char**) {\n  assert(count > 0);\n  return __FILE__[0] == 0;\n}\n'


def commands(build):
    """Yields (command, file) of each part of common/stats."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        if "wattle_stats.dir" in entry["command"]:
            first = next(i for i, word in enumerate(words) if re.search(r"(g|clang)\+\+[^/]*$", word))
            yield words[first:], pathlib.Path(entry["file"])


def program(build, folder, mapped):
    """Returns the program's bytes, built in a folder that replaces the tree."""
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "common", folder / "common")
    (folder / "main.cpp").write_text(MAIN, encoding="utf-8")
    made = folder / build.relative_to(ROOT)
    objects, words = [], []

    def there(text):
        return text.replace(str(build), str(made)).replace(str(ROOT), str(folder))

    for words, file in commands(build):
        source = pathlib.Path(there(str(file)))
        if file.is_relative_to(build):
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(there(file.read_text(encoding="utf-8")), encoding="utf-8")
        words = [there(word) for word in words if mapped or not word.startswith("-ffile-prefix-map=")]
        at = made / words[words.index("-o") + 1]
        at.parent.mkdir(parents=True, exist_ok=True)
        output(*words, cwd=made)
        objects.append(str(at))
    plain = [word for word in words[:words.index("-o")] if not word.startswith(("-M", "CMakeFiles")) and not word.endswith(".d")]
    output(*plain, "-c", "-o", made / "main.o", folder / "main.cpp", cwd=made)
    output(words[0], "-pie", "-Wl,--build-id", "-o", made / "program", "main.o", *[str(pathlib.Path(one).relative_to(made)) for one in objects], cwd=made)
    return (made / "program").read_bytes()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    claims = Claims()
    parts = list(commands(build))
    claims.check(f"{len(parts)} parts are compiled with their paths mapped", parts and all(f"-ffile-prefix-map={ROOT}=." in words for words, _ in parts), str(parts)[:2000])
    with tempfile.TemporaryDirectory(prefix="wattle-folders-") as folder:
        folder = pathlib.Path(folder)
        first, second = program(build, folder / "one", True), program(build, folder / "another/deeper", True)
        claims.check(f"builds in two folders have the same {len(first)} bytes", first == second)
        claims.check("no folder name is in the program", str(folder).encode() not in first)
        claims.check("without path mapping the builds differ", program(build, folder / "third", False) != program(build, folder / "fourth/deeper", False))
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
