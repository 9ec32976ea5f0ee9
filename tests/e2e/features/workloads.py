"""workloads: rows S1 to S9 and P1 to P6 of the feature list: simulation, load, benchmarks, provisioning."""
import json
import shutil
import sys

from house import wait_until
from resizing import Resizing
from walk import ROOT, against_default, claim, elsewhere, row, shown_by
from world import Env

sys.path.append(str(ROOT / "tests/e2e/cluster"))
import real_cluster  # noqa: E402


@row("S1", "deterministic simulator of heterogeneous nodes, any number")
def s1(world):
    first, again = world.simulated_by("bench"), world.simulated_by("again")
    claim("the same seeds give the same bytes", first == again and len(first) > 200, first[-300:])
    text = world.shell("wattle-sim scenarios")
    claim("the scenarios are listed", "thesis_test1" in text and "consolidation_churn" in text, text[:300])
    with Env(world, "wattle-sim", "env", "--nodes", "50", "--placements", "5") as env:
        claim("any number of nodes", env.ask(op="hello")["nodes"] == 50)
    return f"{len(first)} bytes twice"


@row("S2", "Gym-like reset and step with masks")
def s2(world):
    def play(seed):
        with Env(world, "wattle-sim", "env", "--nodes", "4", "--placements", "20") as env:
            step, steps = env.ask(op="reset", seed=seed), 0
            while not step["done"]:
                step = env.ask(op="step", action=step["observation"]["mask"].index(1))
                steps += 1
            return steps, step["figures"]
    one, two = play(7), play(7)
    claim("an episode ends with its figures, the same for the same seed", one == two and one[1]["energy_j"] > 0, (one, two))
    with Env(world, "wattle-sim", "env", "--nodes", "4") as env:
        env.ask(op="reset", seed=7)
        refused = env.ask(op="step", action=99)
        claim("an invalid node is refused and changes nothing", refused["error"]["code"] == "out_of_range", refused)
    world.shell.typed[1:] = []
    return f"{one[0]} steps, {one[1]['energy_j']:.0f} J; Gymnasium's own check: " + shown_by("python/tests")


@row("S3", "churn drivers in simulation and on a real API server")
def s3(world):
    world.simulated_by("thesis")
    document = (world.house.dir / "thesis.json").read_text()
    claim("both tests ran", "thesis_test1" in document and "thesis_test2" in document)
    return "five seeds each; on an API server: " + shown_by("tests/integration/sim/churn_test.cpp", "tests/e2e/kube/kube_test.py")


@row("S4", "resource load on a real node at a target level")
def s4(world):
    if shutil.which("stress-ng") is None:
        return elsewhere("no stress-ng", "tests/e2e/docs/load_test.py")
    shown = world.shell.json("wattle-load resource --cpu 0.2 --memory 32M --disk 1M --network 2M --for 2s -o json")
    claim("each resource has the requested and the reached level", shown["memory"]["reached_bytes"] >= 0.9 * shown["memory"]["wanted_bytes"] and
          all(next(value for key, value in shown[name].items() if key.startswith("reached")) > 0 for name in ("cpu", "memory", "disk", "network")), shown)
    return f"{shown['cpu']['reached_cores']:.2f} of 0.2 cores, {shown['memory']['reached_bytes'] / 2**20:.0f} MiB"


@row("S5", "user load: closed-loop users, percentiles, replay of a trace")
def s5(world):
    users = world.shell.json(f"wattle-load http {world.url()} --users 10 --think 100ms --for 2s -o json")
    claim("every request of a closed loop is answered", users["loop"] == "closed" and users["due"] == users["answered"] > 0 and not sum(users["failed"].values()), users)
    world.shell("printf '%s\\n' 20 40 60 80 60 40 20 > day.txt")
    day = world.shell.json(f"wattle-load http {world.url()} --trace day.txt --speed 10 -o json")
    claim("a trace is replayed", day["loop"] == "open" and day["due"] == day["answered"] + sum(day["failed"].values()) and 200 < day["due"] < 450, day)
    claim("with percentiles", day["latency_ms"]["p50"] <= day["latency_ms"]["p99"] <= day["latency_ms"]["max"], day["latency_ms"])
    claim("without a listener it exits with 1", "refused" in world.shell("wattle-load http http://127.0.0.1:1/ --rate 5 --for 1s", code=1))
    return f"{users['answered']} answers to ten users; {day['due']} requests of a trace, p99 {day['latency_ms']['p99']:.1f} ms"


@row("S6", "benchmark from equal starts against the default scheduler and others")
def s6(world):
    text = world.simulated_by("bench")
    mean, low, high = against_default(text, "planner")
    claim("the planner saves energy, with its whole interval below zero", low <= mean <= high < 0, text)
    return f"simulated, five seeds: planner {mean}% [{low}, {high}] against the default; with a real kube-scheduler: lab/benchmarks/kube_energy.py, and " + shown_by("tests/e2e/kube/scores_test.py")


@row("S7", "node profile matrix, resumable")
def s7(world):
    return "wattle-sim profile, on a service of this machine: " + shown_by("tests/integration/sim/profile_test.py")


@row("S8", "single-node simulation of provisioning")
def s8(world):
    world.simulated_by("provision")
    entries = json.loads((world.house.dir / "provision.json").read_text())
    claim("three contestants on four traces, marked as simulated", entries["simulated"] is True and len(entries["entries"]) == 12, entries.keys())
    return f"{len(entries['entries'])} entries"


@row("S9", "a real cluster of three nodes on one machine in one command")
def s9(world):
    if reason := real_cluster.missing(world.house.binaries):
        return elsewhere(reason, "tests/e2e/cluster/cluster_test.py")
    world.shell.typed.append("scripts/demo cluster")
    with real_cluster.RealCluster(world.house.binaries) as cluster:
        ready, = cluster.demo.find(r"([\d.]+) s: ready")

        def reported():
            found = cluster.wattle("nodes")["nodes"]
            return found if len(found) == real_cluster.NODES and all(node["power_w"] for node in found) else None
        nodes = wait_until("three nodes report watts", reported)
        claim("their watts are marked as estimates", {node["energy_source"] for node in nodes} == {"estimated"}, nodes)
        claim("the demo exits with 0 and removes everything", cluster.end() == 0 and not real_cluster.left(cluster.run_folder), cluster.demo.output()[-500:])
    return f"ready after {ready} s; policies are compared on it: " + shown_by("tests/e2e/cluster/compare_test.py")


@row("P1", "CPU and memory limits and protection on the node, dry by default, put back on exit")
def p1(world):
    world.house.write("actuator.yaml", """
            workloads:
              - {unit: reports.service, level: suggest}
              - {unit: postgresql.service, level: protect}
            """)
    world.shell("wattle-actuator run --check-config --config actuator.yaml")
    said = world.shell.run("wattle-actuator doctor --config actuator.yaml")
    world.shell.typed.append("wattle-actuator doctor")
    claim("doctor reports what this node permits", "systemd" in said.stdout and said.returncode in (0, 1), said.stdout + said.stderr)
    claim("protection is a separate level", "/system.slice/postgresql.service: note: protect: " in said.stdout, said.stdout)
    world.house.write("wrong.yaml", """
            workloads:
              - {unit: reports.service, level: sometimes}
            """)
    refused = world.shell("wattle-actuator run --check-config --config wrong.yaml", code=2)
    claim("an error is reported with its line", "wrong.yaml:2" in refused and "sometimes" in refused, refused)
    return "configuration and doctor; what the kernel sets and puts back: " + shown_by("tests/integration/actuator/kernel_test.py", "tests/unit/actuator/protection_test.cpp",
                                                                                        "tests/e2e/machine/memory_test.py", "tests/e2e/machine/protect_test.py")


@row("P2", "nine actions per deployment")
def p2(world):
    said = world.shell("wattle provision margins")
    claim("without an API server the teacher chooses no replicas and says why", "not replicas: no API server is followed (kubernetes.watch)" in said, said)
    return elsewhere("replicas need an API server, and one action a minute takes hours to judge", "tests/unit/provision/minute/choice_test.cpp", "tests/unit/lab/contestants/teach_test.cpp",
                     "tests/unit/controller/replica_place_test.cpp", "tests/integration/actuator/pod_margins_test.py", "tests/integration/controller/margins_test.cpp")


@row("P3", "state: request rate, forecast, CPU, p99")
def p3(world):
    with Env(world, "wattle-sim", "provision-env", "--minutes", "6") as env:
        hello, step = env.ask(op="hello"), env.ask(op="reset", seed=3)
        wanted = {"over_ratio", "p99_over_target", "rate_rps", "expected_rps", "expected_low_rps", "expected_high_rps"}
        claim("the minute has rate, forecast and p99", wanted <= set(hello["minute_features"]), hello["minute_features"])
        claim("a service has usage, throttling and limit", {"used_cores", "throttled_ratio", "limit_cores"} <= set(hello["service_features"]), hello["service_features"])
        for _ in range(200):
            step = env.ask(op="step", action=31)
        minute = dict(zip(hello["minute_features"], step["observation"]["minute"]))
        claim("after three minutes a rate is expected, within its range", minute["expected_low_rps"] <= minute["expected_rps"] <= minute["expected_high_rps"] and minute["expected_rps"] > 0, minute)
    return f"{minute['rate_rps']:.0f} requests/s, {minute['expected_rps']:.0f} expected; memory: " + shown_by("tests/unit/lab/contestants/teach_test.cpp")


@row("P4", "teacher at the centre, students on the nodes, a retrain trigger")
def p4(world):
    shown = world.shell.json("wattle provision margins -o json")
    claim("the teacher is compared with the rule, and has learned nothing without a service", shown["rule"]["minutes"] == shown["teacher"]["minutes"] == 0 and
          shown["learned"]["minutes"] == 0 and shown["learned"]["problem"] is None and shown["services"] == [], shown)
    claim("no student exists yet, and none was withdrawn", shown["student"]["stage"] == "none" and shown["student"]["withdrawn"] == 0, shown["student"])
    return "the controller's teacher runs; its student, and what has it trained again: " + \
        shown_by("tests/unit/controller/margin_teacher_test.cpp", "tests/unit/controller/student_path_test.cpp", "tests/unit/actuator/student_margin_test.cpp")


@row("P5", "a fast loop on the node that beats Autothrottle's captain")
def p5(world):
    world.simulated_by("provision")
    entries = json.loads((world.house.dir / "provision.json").read_text())["entries"]
    traces = sorted({one["trace"] for one in entries})
    claim("the rule and the captain got the same requests", all({"wattle", "captain"} <= {one["contestant"] for one in entries if one["trace"] == trace} for trace in traces), entries[0])
    return elsewhere("five minutes judge nothing: hours do (lab/docs/provisioning.md)", "tests/unit/lab/contestants/captain_test.cpp", "tests/integration/actuator/kills_test.py")


@row("P6", "requests are resized in place through the API server")
def p6(world):
    said = world.shell("wattle provision list")
    claim("without an API server the answer says so and names the key", "the controller follows no API server (kubernetes.watch)" in said, said)
    with Resizing() as cluster:
        words = f"--namespace shop --kubeconfig {cluster.kubeconfig}"
        world.shell(f"wattle provision set {words} --from {cluster.page} --dry-run")
        claim("a dry run makes no change", not cluster.patches, cluster.patches)
        world.shell(f"wattle provision set {words} --from {cluster.page}")
        claim("a pod is resized in place", cluster.requested() == "900m" and cluster.patches[0][0].endswith("/resize"), cluster.patches)
        world.shell(f"wattle provision restore {words}")
        claim("the pod's request is restored", cluster.requested() == "500m", cluster.requested())
    world.shell.typed[:] = ["wattle provision set --dry-run", "wattle provision set", "wattle provision restore"]
    return "500m, 900m, 500m on an API server of this test; on a real one: " + shown_by("tests/e2e/kube/resize_test.py", "tests/e2e/cluster/resizes.py")
