#!/usr/bin/env python3
"""headers_test: each source of the folders below has a header of the same name, so that a class has one header and one
source.

Looks at  the .cpp files of ROOMS; main.cpp needs no header, and ALTERNATIVES implement one header in several ways
Usage     headers_test.py [--self-test]
Exit      0 fine, 1 a source without its header, one line each
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("controller", "placement", "provision", "actuator")
ALTERNATIVES = {
    "controller/trainer/make_network_none.cpp": "controller/trainer/make_network.hpp",
    "controller/trainer/make_network_torch.cpp": "controller/trainer/make_network.hpp",
}
# Sources without a header from before this rule. Remove a line when its file gets a header or is deleted; add none.
SLICES = {
    "controller/rollout/rollout_json.cpp",
    "controller/rollout/rollout_orders.cpp",
    "placement/learn/learner_checkpoint.cpp",
    "placement/worth/feature_specs.cpp",
}


def breaches(names):
    """Returns sources that lack their header, and entries of SLICES that have one."""
    for name in sorted(names):
        if not name.endswith(".cpp") or name.endswith("/main.cpp"):
            continue
        header = ALTERNATIVES.get(name, name[: -len(".cpp")] + ".hpp")
        if header not in names and name not in SLICES:
            yield f"{name}: has no header {header} (give its class a header, or merge it into the source of its class)"
        if header in names and name in SLICES:
            yield f"{name}: now has a header (remove it from SLICES)"


def self_test():
    assert not list(breaches({"controller/a.cpp", "controller/a.hpp", "controller/main.cpp", "controller/b.hpp"}))
    assert list(breaches({"controller/a.cpp", "controller/a_part.hpp"}))
    assert not list(breaches({"controller/rollout/rollout_json.cpp"}))
    assert list(breaches({"controller/rollout/rollout_json.cpp", "controller/rollout/rollout_json.hpp"}))
    assert not list(breaches({"controller/trainer/make_network_none.cpp", "controller/trainer/make_network.hpp"}))


def main():
    if "--self-test" in sys.argv[1:]:
        return self_test()
    names = {str(path.relative_to(ROOT)) for room in ROOMS for path in (ROOT / room).rglob("*.[ch]pp")}
    found = list(breaches(names))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
