#!/usr/bin/env python3
"""tensorboard_test: creates a virtual environment in FOLDER with tensorboard from the package index, whose reader reads
the files that EVENT_FILES writes. Skips with exit code 77 and a reason if the index or venv is not available.

Usage    tensorboard_test.py EVENT_FILES FOLDER
"""
import pathlib
import shutil
import subprocess
import sys
import venv

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import AGES_S  # noqa: E402

SKIPPED = 77
# Pinned, so that the test is reproducible; setuptools has pkg_resources, which tensorboard imports.
WANTED = ["tensorboard==2.20.0", "setuptools<81"]


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


writer, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
python, events = folder / "bin" / "python", folder / "events"
has_it = [str(python), "-c", "import tensorboard.backend.event_processing.directory_watcher"]
if not python.exists() or subprocess.run(has_it, capture_output=True, check=False).returncode != 0:
    try:
        venv.create(folder, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        skip(f"a virtual environment cannot be created: {error}")
    try:
        got = subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--retries", "1", *WANTED],
                             capture_output=True, text=True, timeout=AGES_S, check=False)
    except subprocess.TimeoutExpired:
        skip("the package index did not answer in time")
    if got.returncode != 0:
        skip("pip cannot install tensorboard: " + got.stderr.strip().splitlines()[-1] if got.stderr.strip() else "pip failed")
shutil.rmtree(events, ignore_errors=True)
subprocess.run([str(writer), str(events)], check=True)
check = pathlib.Path(__file__).with_name("tensorboard_check.py")
done = subprocess.run([str(python), str(check), str(events)], env={"PATH": "/usr/bin:/bin"}, check=False)
sys.exit(done.returncode)
