"""checkpoints: starts a controller whose networks on disk are half-written, torn, bit-flipped, missing or old.

Law      the controller starts with the newest intact checkpoint, names each newer damaged one, and continues to learn
Source   <data_dir>/checkpoints (models/networks.md); the test judges from the files which checkpoints are
         intact
"""
import hashlib
import json
import shutil
import time

from cluster import SIMULATED
from house import HouseError, wait_until
from patience import holds, pace

MOST_KEPT = 3


def whole(manifest):
    """Returns whether the manifest matches its own digest and its weights."""
    try:
        text = manifest.read_text()
        json.loads(text)
        lines = text.removesuffix("\n").split("\n")
        own = [line for line in lines if line.startswith('  "manifest_sha256": "')]
        digest = hashlib.sha256("\n".join(line for line in lines if line not in own).encode()).hexdigest()
        weights = manifest.with_suffix(".safetensors").read_bytes()
        return len(own) == 1 and digest in own[0] and json.loads(text)["sha256"] == hashlib.sha256(weights).hexdigest()
    except (OSError, ValueError, KeyError):
        return False


def folder(cluster):
    return cluster.dir / "controller" / "checkpoints"


def manifests(cluster):
    """Returns the checkpoints, newest first."""
    return sorted(folder(cluster).glob("*.json"), reverse=True)


def newest_whole(cluster):
    return next((m for m in manifests(cluster) if whole(m)), None)


def reported(text, event):
    return [line for line in map(json.loads, filter(lambda l: l.startswith("{"), text.splitlines())) if line["event"] == event]


def start_and_read(cluster):
    """Starts the controller. Returns its log of checkpoints: (resumed or None, skipped, started again)."""
    before = len(cluster.log("controller"))
    cluster.start("controller")
    new = lambda: cluster.log("controller")[before:]  # noqa: E731
    wait_until("the controller runs", lambda: cluster.alive("controller") and reported(new(), "controller.started"))
    resumed = reported(new(), "learning.resumed")
    again = reported(new(), "learning.started") + reported(new(), "checkpoint.unusable")
    return (resumed[0] if resumed else None), reported(new(), "checkpoint.skipped"), again


def begin_learning(cluster):
    cluster.start_pods()
    wait_until("checkpoints are kept and steps were taken", lambda: len([m for m in manifests(cluster) if whole(m)]) == MOST_KEPT
               and steps(cluster) > 0)


def end_learning(cluster):
    for name in ("drive", "swarm"):
        cluster.kill(name)


def steps(cluster):
    return cluster.document("status")["gradient_steps"] or 0


def learns_on(cluster, report, what):
    """Waits for further steps and a new checkpoint."""
    begun, newest = wait_until("the controller reports its steps", lambda: steps(cluster) + 1), manifests(cluster)[:1]
    wait_until("learning continues", lambda: steps(cluster) >= begun)
    wait_until("a further checkpoint is kept", lambda: newest_whole(cluster) and manifests(cluster)[:1] != newest)
    report.check(f"{what}: learning continues", True)


def wait_for_save(cluster, before):
    """Waits for the start of a save almost without pause, because a save takes about ten milliseconds."""
    if not holds(lambda: set(folder(cluster).iterdir()) - before, every_s=0.0002):
        raise HouseError("no save starts")


def killed_while_saving(cluster, report, dice, kills):
    begin_learning(cluster)
    unfinished = wrong = 0
    for turn in range(kills):
        before = set(folder(cluster).iterdir())
        # Kills when a new file appears or shortly after; every fourth time at a random moment.
        if turn % 4 != 3:
            wait_for_save(cluster, before)
            pace(dice.choice((0, dice.uniform(0, 0.005), dice.uniform(0, 0.03))))
        cluster.kill("controller")
        unfinished += any(path.stem.split(".")[0] not in {m.stem for m in manifests(cluster) if whole(m)} for path in folder(cluster).iterdir())
        expected = newest_whole(cluster)
        begun = time.monotonic()
        resumed, skipped, again = start_and_read(cluster)
        if again or resumed is None or resumed["file"] != str(expected.with_suffix(".safetensors")):
            wrong += 1
            report.check("the controller continues with the newest intact checkpoint", False, (expected, resumed, skipped, again))
        cluster.wait_ingesting()
        report.recovered("controller killed while saving, samples accepted again after", time.monotonic() - begun)
        wait_until("the controller saves again", lambda: newest_whole(cluster) != expected)
    report.check(f"killed while saving {kills} times, {unfinished} of them with an unfinished save on disk: "
                 "each start uses the newest intact checkpoint", wrong == 0)
    learns_on(cluster, report, "killed while saving")
    end_learning(cluster)
    report.audited(cluster, "killed while saving")


def torn(path, dice):
    data = path.read_bytes()
    path.write_bytes(data[:dice.randrange(len(data))])


def flipped(path, dice):
    data = bytearray(path.read_bytes())
    for _ in range(dice.choice((1, 1, 8))):
        bit = dice.randrange(len(data) * 8)
        data[bit // 8] ^= 1 << bit % 8
    if bytes(data) == path.read_bytes():  # the same bit twice
        data[0] ^= 1
    path.write_bytes(data)


def gone(path, _):
    path.unlink()


def copy_whole(source, target):
    """Removes an unfinished save, which is no checkpoint yet and would be reported as skipped."""
    shutil.copytree(source, target)
    for path in target.iterdir():
        if not path.with_suffix(".json").exists():
            path.unlink()


def damaged_checkpoint(cluster, report, dice, kills):
    begin_learning(cluster)
    end_learning(cluster)
    cluster.kill("controller")
    kept = cluster.dir / "kept-checkpoints"
    copy_whole(folder(cluster), kept)
    wrong = 0
    damages = [(how, suffix) for how in (torn, flipped, gone) for suffix in (".safetensors", ".json")]
    # Damages the newest, and in some cases the one before it.
    cases = [(damages[0], damages[3]), (damages[1], damages[4]), (damages[2], None), (damages[5], None)]
    cases += [(dice.choice(damages), dice.choice((*damages, None))) for _ in range(kills - 2)]
    for case in cases:
        shutil.rmtree(folder(cluster))
        shutil.copytree(kept, folder(cluster))
        done = [(victim, damage) for victim, damage in zip(manifests(cluster), case) if damage]
        victims = [victim for victim, _ in done]
        for victim, (how, suffix) in done:
            how(victim.with_suffix(suffix), dice)
        expected = newest_whole(cluster)
        resumed, skipped, _ = start_and_read(cluster)
        named = all(any(victim.stem in str(line) for line in skipped) for victim in victims)
        good = resumed and resumed["file"] == str(expected.with_suffix(".safetensors")) and len(skipped) == len(victims) and named
        if not good:
            wrong += 1
            report.check(f"damage {case}", False, (expected, resumed, skipped))
        cluster.kill("controller")
    report.check(f"{len(cases)} times the newest one or two torn, flipped or missing: skipped by name, and the next is used", wrong == 0)

    for manifest in manifests(cluster):
        torn(manifest.with_suffix(".safetensors"), dice)
    resumed, _, again = start_and_read(cluster)
    names = [m.stem for m in manifests(cluster)]
    report.check("all three damaged: learning starts from scratch, with an error that names each",
                 resumed is None and len(again) == 1 and again[0]["level"] == "error" and all(n in str(again[0]) for n in names), (resumed, again))
    report.recovered("no usable checkpoint, samples accepted after", cluster.wait_ingesting())
    cluster.start_pods()
    learns_on(cluster, report, "all three damaged")
    end_learning(cluster)
    shutil.rmtree(kept)
    report.audited(cluster, "damaged checkpoints")


def old_checkpoint_restored(cluster, report, _, __):
    """Restores an old copy as an operator: it is loaded, its age is reported, samples since then are kept, and learning
    continues from it."""
    begin_learning(cluster)
    cluster.kill("controller")
    old = cluster.dir / "old-checkpoints"
    copy_whole(folder(cluster), old)
    cluster.start("controller")
    newest = newest_whole(cluster)
    wait_until("all checkpoints are newer", lambda: len([m for m in manifests(cluster) if whole(m) and m > newest]) == MOST_KEPT)
    cluster.kill("controller")
    newer = json.loads(newest_whole(cluster).read_text())["step"]
    shutil.rmtree(folder(cluster))
    shutil.copytree(old, folder(cluster))
    expected = newest_whole(cluster)
    step = json.loads(expected.read_text())["step"]
    resumed, skipped, _ = start_and_read(cluster)
    report.check(f"an old checkpoint ({step} steps, the lost one had {newer}) is loaded and its age reported",
                 resumed and not skipped and resumed["file"] == str(expected.with_suffix(".safetensors")) and resumed["step"] == step
                 and resumed.get("age_s", 0) > 0, (resumed, skipped))
    learns_on(cluster, report, "an old checkpoint")
    wait_until("the agents are connected", lambda: sum(n["connected"] for n in cluster.document("nodes")["nodes"]) >= SIMULATED)
    end_learning(cluster)
    shutil.rmtree(old)
    report.audited(cluster, "an old checkpoint restored")
