#!/usr/bin/env python3
"""walk_test: documented.py skips no block: a block without a rule is an error, and so is a rule without a block. The
pages of the installation tests match their rules.

Exit     0 fine, 1 a claim failed
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "kube"), str(HERE.parent / "kube/node")]
sys.dont_write_bytecode = True
import documented  # noqa: E402
import kube_install_test  # noqa: E402
from demo_run import Claims  # noqa: E402
from documented import Failed, Undocumented, Walk  # noqa: E402

FENCE = "```"
TEXT = f"""# Top

## One

1. Do this:

   {FENCE}sh
   echo first
   echo second
   {FENCE}

### Below

{FENCE}yaml
key: value
{FENCE}

## Two

{FENCE}sh
false
echo never
{FENCE}

## Three

{FENCE}json
{FENCE}
"""


def shell(text):
    ran = subprocess.run(["bash", "-euc", text], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout


def refused(walk, heading, kind, words):
    try:
        walk(heading) if heading else walk.finish()
    except kind as error:
        return words in str(error)
    return False


def main():
    claims = Claims()
    with tempfile.TemporaryDirectory() as folder:
        page, written = pathlib.Path(folder) / "page.md", {}
        page.write_text(TEXT, encoding="utf-8")
        documented.ROOT = pathlib.Path(folder)
        walk = Walk("page.md", shell, written.__setitem__, files={"key:": "there.yaml"}, instead={"echo second": ("echo other", "so")})
        said = walk("One")
        claims.check("blocks are run unchanged, without indentation, with replaced lines", said[0] == "first\nother\n", said)
        claims.check("a yaml block is written to its file", written == {"there.yaml": "key: value\n"}, written)
        claims.check("every rule is needed", walk.finish() == 1)
        claims.check("a command that fails is reported with its line on the page", refused(walk, "Two", Failed, "page.md:20: exit 1"))
        claims.check("a block of another kind is an error", refused(walk, "Three", Undocumented, "'json'"))
        claims.check("a missing heading is an error", refused(walk, "Four", Undocumented, "Four"))
        claims.check("a yaml block without a file is an error", refused(Walk("page.md", shell, None), "Below", Undocumented, "no rule"))
        late = Walk("page.md", shell, None, without={"gone": "why"})
        claims.check("an unused rule is an error", refused(late, None, Undocumented, "gone"))
    documented.ROOT = HERE.parents[2]
    for way, without in kube_install_test.WAYS.items():
        walk = Walk(kube_install_test.PAGE, lambda text: (0, text), lambda *_: None,
                    without=without, instead=kube_install_test.FORWARD | (kube_install_test.BASE if way == "helm" else {}), again=kube_install_test.LOOKS)
        for heading, page in (("Install on Kubernetes", kube_install_test.PAGE), ("Move Deployments to it", kube_install_test.MOVE), ("Upgrade on Kubernetes", kube_install_test.UPGRADE),
                              ("Roll back", kube_install_test.UPGRADE), ("Remove from Kubernetes", kube_install_test.UPGRADE)):
            walk(heading, page)
        claims.check(f"the page matches its rules for {way}", walk.finish() > 3)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
