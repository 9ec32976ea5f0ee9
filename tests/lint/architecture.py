#!/usr/bin/env python3
"""architecture: checks the tree against ARCHITECTURE.md: include direction, homes of libraries, file heads and sizes,
no local paths.

Usage    architecture.py [ROOT]     prints each breach as file:line: what (fix); exit 1 if there is one
         architecture.py --self-test   shows that each rule finds a breach
"""
import pathlib
import re
import sys
import tempfile

# Folders that a folder may include, besides itself. The longest match wins. tests/ and lab/benchmarks/ may include
# everything.
MAY_INCLUDE = {
    "common/wire": {"common"},
    "common/transport": {"common"},
    "common/http": {"common"},
    "common/sqlite": {"common"},
    "common/cmdline": {"common"},
    "common/kube": {"common"},
    "common/stats": set(),
    "common/json": {"common"},
    "common": set(),
    "models/frozen": {"common"},
    "models/torch": {"common", "models/frozen"},
    "placement/cluster": {"common", "models/frozen"},
    "placement/worth": {"common", "models/frozen", "placement/cluster"},
    "placement/plan": {"common", "models/frozen", "placement/cluster", "placement/worth"},
    "placement/sleep": {"common", "models/frozen", "placement/cluster", "placement/worth", "placement/plan"},
    "placement/judge": {"common", "models/frozen", "placement/cluster", "placement/worth", "placement/plan"},
    "placement/learn": {"common", "models/frozen", "placement/cluster", "placement/worth", "placement/plan"},
    "placement/decide": {"common", "models/frozen", "placement"},
    "provision/requests": {"common", "placement/cluster"},
    "provision/savings": {"common", "placement/cluster"},
    "provision/minute": {"common", "models/frozen"},
    "provision/student": {"common"},
    "agent": {"common", "models/frozen"},
    "actuator": {"common", "models/frozen", "provision/minute", "provision/student"},
    "controller": {"common", "models/frozen", "models/torch", "placement", "provision"},
    "sim/cluster": {"common"},
    "sim/world": {"common", "placement", "provision/requests", "provision/savings"},
    "sim/policies": {"common", "models/frozen", "placement"},
    "sim/scenarios": {"common", "placement"},
    "sim/env": {"common", "models/frozen", "placement"},
    "sim/improve": {"common", "models/frozen", "placement"},
    "sim/live": {"common", "models/frozen", "models/torch", "placement"},
    "sim/provision": {"common", "models/frozen", "placement", "provision"},
    "sim/profile": {"common", "load"},
    "sim/commands": {"common", "models/frozen", "models/torch", "placement"},
    "sim": {"common"},
    "lab/policies": {"common", "models/frozen", "placement", "sim"},
    "lab/bench": {"common", "models/frozen", "placement", "sim", "controller"},
    "lab/contestants": {"common", "models/frozen", "placement", "provision", "sim"},
    "lab/judges": {"common", "placement", "provision", "sim"},
    "lab/ablations": {"common", "models/frozen", "models/torch", "placement", "sim"},
    "lab/report": {"common", "placement", "sim"},
    "lab/commands": {"common", "models/frozen", "models/torch", "placement", "sim"},
    "lab": {"common", "sim"},
    "shim": {"common"},
    "cli": {"common"},
    "load": {"common"},
}
# Layers within sim/ and within lab/; files and folders that are not listed may include all of them.
MAY_INCLUDE_IN_PROGRAM = {
    "sim/cluster": set(),
    "sim/world": {"sim/cluster"},
    "sim/policies": {"sim/world"},
    "sim/scenarios": {"sim/cluster", "sim/world"},
    "sim/env": {"sim/cluster", "sim/world", "sim/policies", "sim/scenarios"},
    "sim/improve": {"sim/cluster", "sim/world", "sim/scenarios", "sim/env"},
    "sim/live": {"sim/cluster", "sim/world"},
    "sim/provision": {"sim/world"},
    "sim/profile": set(),
    "lab/policies": set(),
    "lab/bench": {"lab/policies"},
    "lab/contestants": set(),
    "lab/judges": {"lab/contestants"},
    "lab/ablations": {"lab/bench"},
    "lab/report": {"lab/bench", "lab/policies"},
}
# Neighbours that a folder of common/ may include.
MAY_INCLUDE_IN_COMMON = {
    "common": {"common", "common/json"},
    "common/json": {"common", "common/json"},
    "common/wire": {"common", "common/wire"},
    "common/cmdline": {"common", "common/cmdline"},
    "common/transport": {"common", "common/wire", "common/transport"},
    "common/http": {"common", "common/http", "common/json"},
    "common/sqlite": {"common", "common/wire", "common/sqlite"},
    "common/kube": {"common", "common/http", "common/json", "common/kube"},
    "common/stats": {"common/stats"},
}
# placement/ and provision/ are pure: no sockets, no HTTP, no clock. The code that writes limits has no network access.
FORBIDDEN = {
    "placement": {"common/transport", "common/http", "common/sqlite", "common/kube"},
    "provision": {"common/transport", "common/http", "common/sqlite", "common/kube"},
    "actuator": {"common/transport", "common/http", "common/sqlite", "common/kube"},
}
# Rooms: other folders include only the headers that the README of the room lists as public.
ROOMS = ("placement/cluster", "placement/worth", "placement/plan", "placement/sleep", "placement/judge", "placement/learn", "placement/decide",
         "provision/requests", "provision/savings", "provision/minute", "provision/student",
         "sim/cluster", "sim/world", "sim/policies", "sim/scenarios", "sim/env", "sim/improve", "sim/live", "sim/provision", "sim/profile", "sim/commands",
         "lab/policies", "lab/bench", "lab/contestants", "lab/judges", "lab/ablations", "lab/report", "lab/commands")
PUBLIC = re.compile(r"^- `([\w/]+\.hpp)`", re.MULTILINE)

# Header prefix of a library -> the only files or folders that may include it.
HOMES = {
    r"zmq(\.h|\.hpp|_addon\.hpp)": ["common/transport"],
    r"boost/(?!math/)": ["common/http", "load/users.cpp"],
    r"boost/math/": ["common/stats/distributions.cpp"],
    r"sodium": ["common/base64.cpp"],
    r"openssl/": ["common/http", "common/digest.cpp"],
    r"sqlite3\.h|SQLiteCpp/": ["common/sqlite"],
    r"bpf/": ["agent/bpf"],
    r"seccomp\.h": ["actuator/sandbox.cpp"],
    r"systemd/": ["actuator/unit_bus.cpp", "agent/power/logind.cpp"],
    r"torch/|ATen/|c10/": ["models/torch"],
    r"msgpack": ["common/wire/codec.cpp"],
    r"yaml-cpp/": ["common/config.cpp", "common/config_twice.cpp", "common/yaml_tree.cpp"],
    r"spdlog/|fmt/": ["common/log.cpp"],
    r"zlib\.h": ["sim/scenarios/gzip.cpp"],
    r"muParser": ["placement/worth/expression.cpp"],
    r"n?curses\.h|ncursesw?/|term\.h": ["cli/top/terminal.cpp"],
    r"CLI/": ["common/cmdline", "agent/app.cpp", "lab/commands", "cli", "actuator/app.cpp", "controller/app.cpp", "shim/app.cpp", "sim/commands", "load/app.cpp",
             "load/http_command.cpp", "load/resource_command.cpp"],
}
# Tests and benchmarks may include every library but these, which cost more to compile than the rest of a file.
HOMES_IN_TESTS = {
    r"nlohmann/": ["common/json/parse.cpp", "common/json/dump.cpp", "tests/unit/common/json_property_test.cpp",
                   "tests/fuzz/json_fuzz.cpp"],
}
# Received text must be parsed with limits; parse() with one argument is for tests and for the program's own text.
PARSE_WITHOUT_LIMITS = re.compile(r"\b\w*[jJ]son::parse\((?:[^(),]|\((?:[^()]|\([^()]*\))*\))*\)")
MAY_PARSE_WITHOUT_LIMITS = {"lab/report/suite.cpp"}
SOURCE_SUFFIXES = {".cpp", ".hpp", ".c", ".h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|home|root|farm)/[a-z]")
NOW = re.compile(r"(system_clock|steady_clock|high_resolution_clock)\s*::\s*now\s*\(|\bclock_gettime\s*\(|\bgettimeofday\s*\(")


# A test of class `pure` opens no socket and starts no server, nor do the headers in tests/ that it includes.
WATTLE_TEST = re.compile(r"wattle_test\((\w+) CLASS pure\b(.*?)\)", re.DOTALL)
SOCKETS = re.compile(r"sys/socket\.h|netinet/|arpa/inet\.h|common/http/server\.hpp|common/transport/sockets\.hpp")


def folder_of(path: pathlib.PurePosixPath, folders) -> str:
    best = ""
    for folder in folders:
        if str(path.parent) == folder or str(path.parent).startswith(folder + "/"):
            if len(folder) > len(best):
                best = folder
    return best


def public_headers(root: pathlib.Path, room: str):
    """Returns the headers that the folder's README lists as public; None without a README."""
    readme = root / room / "README.md"
    return set(PUBLIC.findall(readme.read_text())) if readme.exists() else None


def check_rooms(root: pathlib.Path, breaches: list) -> None:
    for room in ROOMS:
        if not (root / room).exists():
            continue
        public = public_headers(root, room)
        if public is None:
            breaches.append(f"{room}:1: has no README.md (name its purpose and its public headers)")
            continue
        for header in sorted(public):
            if not (root / room / header).exists():
                breaches.append(f"{room}/README.md:1: lists {header}, which does not exist")


def check_file(root: pathlib.Path, relative: pathlib.PurePosixPath, breaches: list) -> None:
    text = (root / relative).read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    top = relative.parts[0]
    free = top in ("tests", "python") or relative.as_posix().startswith("lab/benchmarks/")
    mine = folder_of(relative, MAY_INCLUDE)

    def breach(line, what):
        breaches.append(f"{relative}:{line}: {what}")

    for number, line in enumerate(lines, 1):
        if MACHINE_PATH.search(line):
            breach(number, "names a path of one machine (use a relative or injected path)")
        if not free and relative.as_posix() != "common/clock.cpp" and NOW.search(line):
            breach(number, "asks the time outside common/clock (take a Clock)")
        if not free and relative.as_posix() not in MAY_PARSE_WITHOUT_LIMITS and PARSE_WITHOUT_LIMITS.search(line):
            breach(number, "parses JSON without limits (state JsonLimits)")
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, target = found.groups()
        if quote == "<":
            for pattern, homes in HOMES_IN_TESTS.items():
                if re.match(pattern, target) and relative.as_posix() not in homes:
                    breach(number, f"includes <{target}> outside its home {', '.join(homes)}")
        if free:
            continue
        if quote == "<":
            for pattern, homes in HOMES.items():
                if re.match(pattern, target) and not any(
                    relative.as_posix() == home or relative.as_posix().startswith(home + "/") for home in homes
                ):
                    breach(number, f"includes <{target}> outside its home {', '.join(homes)}")
            continue
        theirs = folder_of(pathlib.PurePosixPath(target), MAY_INCLUDE)
        if not theirs:
            breach(number, f'includes "{target}", which is not a path from the top of the tree')
            continue
        if mine.split("/")[0] == "common":
            if theirs not in MAY_INCLUDE_IN_COMMON[mine]:
                breach(number, f"{mine} may not include {theirs} ({target})")
            continue
        if theirs == mine:
            continue
        if mine.split("/")[0] == theirs.split("/")[0] and mine.split("/")[0] in ("sim", "lab"):
            allowed = mine not in MAY_INCLUDE_IN_PROGRAM or theirs in MAY_INCLUDE_IN_PROGRAM[mine]
        else:
            may, forbidden = MAY_INCLUDE.get(mine, set()), FORBIDDEN.get(mine.split("/")[0], set())
            allowed = theirs not in forbidden and (theirs in may or theirs.split("/")[0] in may)
        if not allowed:
            breach(number, f"{mine} may not include {theirs} ({target})")
        elif theirs in ROOMS:
            public = public_headers(root, theirs)
            if public is not None and target[len(theirs) + 1:] not in public:
                breach(number, f"includes {target}, which is private to {theirs} (its README.md lists public headers)")

    if free:
        return
    if relative.suffix == ".hpp":
        if not lines or not lines[0].startswith("// "):
            breach(1, "header does not open with its purpose")
        if "#pragma once" not in text:
            breach(1, "header lacks #pragma once")
    if relative.name == "main.cpp" and len(lines) > 15:
        breach(len(lines), "main.cpp is longer than 15 lines (move the work into app.cpp)")
    if len(lines) > 400:
        breach(len(lines), "is longer than 400 lines (split it by responsibility)")


# Headers of tests that name sockets because a type requires it, and open none.
OPENS_NONE = {"tests/unit/controller/parts_rig.hpp"}


def sockets_of(root: pathlib.Path, path: pathlib.Path, seen: set):
    """Returns the first include by which a file of tests/ reaches a socket; None if there is none."""
    if str(path.relative_to(root)) in OPENS_NONE:
        return None
    seen.add(path)
    for line in path.read_text(encoding="utf-8").splitlines():
        found = INCLUDE.match(line)
        if not found:
            continue
        if SOCKETS.match(found[2]):
            return found[2]
        for header in (root / found[2], path.parent / found[2]):
            if found[1] == '"' and root / "tests" in header.parents and header.is_file() and header not in seen:
                if reached := sockets_of(root, header, seen):
                    return reached
    return None


def check_pure_tests(root: pathlib.Path, breaches: list) -> None:
    for cmake in sorted((root / "tests").rglob("CMakeLists.txt")):
        for name, body in WATTLE_TEST.findall(cmake.read_text(encoding="utf-8")):
            for source in re.split(r"\b(?:LIVE|USES)\b", body)[0].split():
                path = cmake.parent / source
                if path.suffix == ".cpp" and path.is_file() and (reached := sockets_of(root, path, set())):
                    breaches.append(f"{path.relative_to(root)}:1: reaches {reached} in the pure test {name} (list it under LIVE)")


def check_tree(root: pathlib.Path) -> list:
    breaches = []
    check_pure_tests(root, breaches)
    tops = {folder.split("/")[0] for folder in MAY_INCLUDE} | {"tests"}
    for top in sorted(tops):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                check_file(root, pathlib.PurePosixPath(path.relative_to(root).as_posix()), breaches)
    check_rooms(root, breaches)
    return breaches


def self_test() -> int:
    cases = {
        "agent/a.cpp": '#include "controller/app.hpp"\n',
        "shim/b.cpp": '#include "placement/decide/decide.hpp"\n',
        "controller/c.cpp": '#include "shim/extender.hpp"\n',
        "common/d.cpp": '#include "common/wire/codec.hpp"\n',
        "controller/e.cpp": "#include <zmq.h>\n",
        "controller/f.cpp": "#include <torch/torch.h>\n",
        "agent/main.cpp": "\n" * 16,
        "sim/g.hpp": "#pragma once\n",
        "sim/h.cpp": "\n" * 401,
        "sim/i.cpp": "auto t = std::chrono::steady_clock::now();\n",
        "sim/j.cpp": 'const char* p = "/' + 'home/someone";\n',
        "actuator/c.cpp": '#include "common/http/client.hpp"\n',
        "cli/k.cpp": '#include "app.hpp"\n',
        "agent/o.cpp": '#include "provision/student/student.hpp"\n',
        "controller/q.cpp": "#include <nlohmann/json.hpp>\n",
        "tests/unit/r.cpp": "#include <nlohmann/json_fwd.hpp>\n",
        "controller/s.cpp": "const json a = json::parse(answer.body());\n",
        # Code that needs the simulator's truth must not be linked live, and live code must not include it.
        "controller/l.cpp": '#include "sim/policies/true_greedy.hpp"\n',
    }
    # In a room that has a README.
    in_rooms = {
        "placement/cluster/r.cpp": '#include "placement/worth/reward.hpp"\n',
        "placement/worth/s.cpp": '#include "common/http/server.hpp"\n',
        "placement/decide/policies/t.cpp": '#include "sim/world/world.hpp"\n',
        "placement/plan/u.cpp": '#include "placement/cluster/private.hpp"\n',
        "sim/cluster/l.cpp": '#include "sim/world/world.hpp"\n',
        "sim/scenarios/m.cpp": '#include "sim/env/env.hpp"\n',
        "sim/profile/n.cpp": '#include "placement/cluster/fleet.hpp"\n',
        "sim/env/x.cpp": '#include "lab/bench/bench.hpp"\n',
        "lab/bench/y.cpp": '#include "sim/world/private.hpp"\n',
        "provision/student/v.cpp": '#include "actuator/app.hpp"\n',
        "provision/requests/w.cpp": '#include "placement/worth/reward.hpp"\n',
    }
    missed = []
    for name, content in cases.items():
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(content)
            if len(check_tree(root)) != 1:
                missed.append(f"{name}: {check_tree(root)}")
    for name, content in in_rooms.items():
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for room in ROOMS:
                (root / room).mkdir(parents=True)
                (root / room / "README.md").write_text("# Room\n")
            (root / "placement/worth/README.md").write_text("- `reward.hpp`: the reward\n")
            (root / "placement/worth/reward.hpp").write_text("// reward\n#pragma once\n")
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content)
            if len(check_tree(root)) != 1:
                missed.append(f"{name}: {check_tree(root)}")
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / "tests").mkdir()
        (root / "tests/CMakeLists.txt").write_text("wattle_test(unit_x CLASS pure LABEL unit\n  SOURCES x_test.cpp LIVE y_test.cpp)\n")
        (root / "tests/rig.hpp").write_text("#include <sys/socket.h>\n")
        for test in ("x", "y"):
            (root / f"tests/{test}_test.cpp").write_text('#include "rig.hpp"\n')
        if len(check_tree(root)) != 1:
            missed.append(f"a pure test with a socket: {check_tree(root)}")
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / "controller").mkdir()
        (root / "controller/fine.cpp").write_text('#include <vector>\n#include "placement/decide/decide.hpp"\n')
        missed += check_tree(root)
    for line in missed:
        print("self-test failed:", line)
    return 1 if missed else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    breaches = check_tree(root)
    print("\n".join(breaches) if breaches else "architecture: no breach")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
