#!/usr/bin/env python3
"""gymnasium_test.py FOLDER-OF-BINARIES FOLDER: creates a virtual environment in FOLDER with gymnasium from the package
index and the wheel of scripts/release, and runs gymnasium's checker on its environments. Skips with exit code 77 and a
reason if the index or venv is not available."""
import os
import pathlib
import subprocess
import sys
import venv

SKIPPED = 77
GYMNASIUM = "gymnasium==1.2.2"  # pinned, so that the test is reproducible


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


programs, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
package = pathlib.Path(__file__).resolve().parents[1]
python = folder / "bin" / "python"
has_it = [str(python), "-c", "import gymnasium"]
if not python.exists() or subprocess.run(has_it, capture_output=True, check=False).returncode != 0:
    try:
        venv.create(folder, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        skip(f"no virtual environment can be made here: {error}")
    try:
        got = subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--retries", "1", GYMNASIUM],
                             capture_output=True, text=True, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        skip("the package index did not answer in time")
    if got.returncode != 0:
        skip("pip cannot install gymnasium: " + got.stderr.strip().splitlines()[-1] if got.stderr.strip() else "pip failed")
wheels = folder / "wheels"
made = subprocess.run([package.parent / "scripts/release", "--no-build", "wheel"], capture_output=True, text=True, check=False,
                      env=os.environ | {"WATTLE_BUILD": str(programs.parent), "WATTLE_RELEASE": str(wheels)})
if made.returncode != 0:
    sys.exit(made.stderr)
wheel, = wheels.glob("*.whl")
subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", str(wheel)], check=True)
done = subprocess.run([str(python), str(package / "tests" / "gymnasium_check.py")], env={"PATH": "/usr/bin:/bin"}, check=False)
sys.exit(done.returncode)
