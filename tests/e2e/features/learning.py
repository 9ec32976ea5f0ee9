"""learning: rows L1 to L15 of the feature list: what is learned, by which component, and its benefit."""
import json
import re

from house import wait_until
from walk import ROOT, claim, elsewhere, missing, partly, row, shown_by
from world import Env


def status(world):
    return world.house.query("status")


@row("L1", "a DQN learns online from real outcomes, and keeps its replay over a restart")
def l1(world):
    world.drive("drive-learn", 300)
    before = wait_until("the network has learned from outcomes", lambda: (s := status(world)) and s["gradient_steps"] > 20 and s["replay"] > 30 and s)
    world.house.kill("drive-learn", 15)
    before = status(world)
    world.shell("wattle model save before-restart --why 'in case'")
    world.house.kill("controller", 15)
    world.house.start_controller()
    after = wait_until("the replay is restored", lambda: (s := status(world)) and s["replay"] >= before["replay"] and s)
    claim("the gradient steps are restored", after["gradient_steps"] >= before["gradient_steps"], (before["gradient_steps"], after["gradient_steps"]))
    world.shell("wattle status")
    wait_until("all nodes are connected again", lambda: status(world)["nodes_connected"] == len(world.nodes))
    return f"{before['gradient_steps']} gradient steps on {before['replay']} placements; after a restart {after['replay']}"


@row("L2", "true DeepSets with action masks: a permutation of the nodes permutes Q")
def l2(world):
    uid, first = world.decided(world.simulated)
    turned = world.scores(list(reversed(world.simulated)), uid)
    claim("the same pod with nodes in reverse order gets the same scores", turned == first, (first, turned))
    shown = world.shell.json(f"wattle explain {uid} -o json")["decision"]["candidates"]
    claim("every node has a Q or a mask, never both", all((one["q"] is None) == (one["masked"] is not None) for one in shown) and len(shown) == len(world.simulated), shown)
    del world.shell.typed[1:-1]
    return "exactly, by property: " + shown_by("tests/unit/models/frozen_network_test.cpp", "tests/unit/models/torch_trainer_test.cpp")


@row("L3", "exact rewards")
def l3(world):
    def episode(reward, choose):
        """Returns rewards of placements, for the steps after which one outcome was read."""
        seen = []
        with Env(world, "wattle-sim", "env", "--scenario", "thesis_test1", "--reward", reward, "--nodes", "3", "--placements", "12") as env:
            hello, step = env.ask(op="hello"), env.ask(op="reset", seed=7)
            while not step["done"]:
                step = env.ask(op="step", action=choose(hello, step["observation"]))
                if step["settled"] == 1:
                    seen.append(step["reward"])
        return seen

    def pods(hello, observation):
        at = hello["node_features"].index(next(name for name in hello["node_features"] if "pods" in name))
        return [one[at] for one in observation["nodes"]]

    def least(hello, observation):
        load = pods(hello, observation)
        return min((i for i in range(len(load)) if observation["mask"][i]), key=lambda i: load[i])

    def most(hello, observation):
        load = pods(hello, observation)
        return max((i for i in range(len(load)) if observation["mask"][i]), key=lambda i: load[i])

    best, ee = episode("lb", least), episode("ee", most)
    claim("lb gives 10 for each least loaded node", best and set(best) == {10.0}, best)
    claim("ee gives int((W - on) / W * 10)", ee and set(ee) <= {float(int((3 - on) / 3 * 10)) for on in range(4)}, ee)
    return f"lb {best[:3]}, ee {ee[:3]}; every preset with numbers computed by hand: " + shown_by("tests/unit/placement/reward_test.cpp")


@row("L4", "pluggable baselines")
def l4(world):
    text = world.simulated_by("bench")
    names = ("kube-default", "round-robin", "random", "empty-node", "most-allocated", "fewest-pods", "planner")
    claim("each baseline has figures", all(name in text for name in names), text[-600:])
    claim("the list of policies has tabular Q", "tabular-q" in world.house.query("policy", "get")["policies"])
    return f"{len(names)} rules on the same seeds; tabular Q: " + shown_by("tests/unit/placement/tabular_test.cpp")


@row("L5", "train, resume, save, load and evaluate")
def l5(world):
    world.simulated_by("train")
    judged = world.shell.json("wattle-sim eval --model network.safetensors --seeds 5 --policies planner,kube-default -o json")
    claim("the trained network is evaluated with the rules", "planner" in json.dumps(judged) and "kube-default" in json.dumps(judged), str(judged)[:300])
    world.shell("wattle model save kept --why 'in case'")
    world.shell("wattle model load kept --why 'back to it'")
    serving = world.shell.json("wattle model list -o json")["serving"]
    claim("the loaded network is in use", serving["loaded_from"] == "kept", serving)
    return "200 decisions, resumed to 300, judged on five seeds; saved and loaded live"


@row("L6", "TensorBoard")
def l6(world):
    folder = world.house.dir / "controller/events"
    files = wait_until("event files exist", lambda: sorted(folder.glob("*tfevents*")) if folder.exists() else None)
    data = files[0].read_bytes()
    names = [name for name in (b"loss", b"epsilon", b"return", b"steps") if name in data]
    claim("with scalars", len(data) > 100, len(data))
    world.shell.typed.append("tensorboard --logdir DATA_DIR/events")
    return f"{len(files)} files, {[name.decode() for name in names]}; read by TensorBoard itself: " + shown_by("tests/integration/models/tensorboard_test.py")


@row("L7", "adapts again when latencies shift, twice in one run")
def l7(world):
    line = next(one for one in world.simulated_by("shift").splitlines() if one.split()[0] == "model-greedy")
    mean, low, high = (float(number) for number in re.search(r"recover_decisions/kube-default ([-+][\d.]+)% \[([-+][\d.]+), ([-+][\d.]+)\]", line).groups())
    claim("the network recovers faster than the default, with its whole interval below zero", low <= mean <= high < 0, line)
    return f"simulated, five seeds, two shifts: decisions to recover {mean}% [{low}, {high}] against the default"


@row("L8", "generalises from few nodes to many without training again")
def l8(world):
    judged = world.shell.json("wattle-sim eval --model network.safetensors --nodes 20 --placements 60 --seeds 5 --policies kube-default -o json")
    claim("a network that was trained on six nodes decides on twenty", "kube-default" in json.dumps(judged), str(judged)[:300])
    return "the same file decides on 20 nodes; that it gains there: " + shown_by("tests/unit/models/small_to_large_test.cpp", "tests/unit/models/frozen_network_test.cpp")


@row("L9", "reward weights change at run time, old experience is judged by them, without a restart")
def l9(world):
    before = status(world)
    world.shell("wattle policy set --weight latency=3 --why 'users first'")
    world.drive("drive-again", 300)
    after = wait_until("learning continues", lambda: (s := status(world)) and s["gradient_steps"] > before["gradient_steps"] and s)
    claim("the experience is kept", after["replay"] >= before["replay"] and after["epoch"] == before["epoch"], (before["replay"], after["replay"]))
    world.house.kill("drive-again", 15)
    claim("the weight is in force", world.house.query("policy", "get")["reward"]["weights"]["latency"] == 3)
    world.shell("wattle policy rollback")
    return f"{after['replay']} placements stay, {after['gradient_steps'] - before['gradient_steps']} steps more; judged by the new weights: " + \
        shown_by("tests/unit/controller/preset_change_test.cpp")


@row("L10", "students on the nodes, distilled from the centre")
def l10(world):
    world.simulated_by("student")
    world.house.write("actuator.yaml", f"""
            workloads: []
            rules: {{student: {world.house.dir}/student.safetensors}}
            """)
    world.shell("wattle-actuator run --check-config --config actuator.yaml")
    student = world.shell.json("wattle provision margins -o json")["student"]
    claim("the controller has trained no student without minutes to learn from", student["stage"] == "none" and student["version"] == 0 and student["why"], student)
    return "a node accepts one; training, trial, sending, withdrawal and the next training take days of minutes: " + \
        shown_by("tests/unit/controller/student_path_test.cpp", "tests/unit/controller/student_release_test.cpp", "tests/unit/models/student_trainer_test.cpp",
                 "tests/integration/controller/student_test.cpp", "tests/unit/agent/student_file_test.cpp", "tests/unit/actuator/student_margin_test.cpp")


@row("L11", "the learner's choices are used in the default installation")
def l11(world):
    text = world.shell("wattle status")
    shown = status(world)
    claim("a sentence names the network in use", shown["network_serves"] and re.search(r"(?m)^in use ", text), shown)
    claim("decisions are counted by policy", sum(shown["decided_by"].values()) > 0, shown["decided_by"])
    if not shown["decided_by"].get("network"):
        return partly(f"{shown['network_serves'][:120]}; decided by {shown['decided_by']}", "a choice of the network within these minutes",
                      "tests/integration/controller/first_network_test.cpp", "tests/e2e/demo_test.py")
    return f"{shown['network_serves'][:120]}; decided by {shown['decided_by']}"


@row("L12", "improves offline from the cluster's own recorded days")
def l12(world):
    world.shell("wattle model record here.record")
    head, *lines = [json.loads(line) for line in (world.house.dir / "here.record").read_text().splitlines()]
    claim("the record has this cluster's nodes and pods", head["wattle_record"] == 1 and len(lines) > len(world.nodes), head)
    refused = world.shell(f"wattle-sim improve here.record --model {ROOT}/models/pretrained/weighted.safetensors --out better.safetensors", code=1)
    claim("a record of minutes is refused, because days are needed", re.search(r"day|hour", refused), refused)
    return f"{len(lines)} lines; a minute is no day: {refused.strip()[:100]}; days: " + shown_by("tests/integration/controller/improve_test.cpp")


@row("L13", "budgets for waiting and lateness are measured, priced and held")
def l13(world):
    world.shell("wattle policy set --cpu-wait 2% --late 3% --why 'what we allow'")
    now = world.shell.json("wattle policy get -o json")
    claim("both budgets are in force", (now["cpu_wait"]["limit"], now["late"]["limit"]) == (0.02, 0.03) and now["cpu_wait"]["set"] and now["late"]["set"], now)
    claim("measured values are shown with the budgets", all("measured" in now[name] and ("price" in now[name] or "price_w" in now[name]) for name in ("cpu_wait", "late")), now)
    world.shell("wattle policy rollback")
    return f"waiting {now['cpu_wait']['measured']} at a price of {now['cpu_wait']['price_w']} W; held in simulation: " + shown_by("tests/unit/placement/waiting_test.cpp")


@row("L14", "joules and waiting measured on this cluster select the policy")
def l14(world):
    return missing("no policy node-order, and no choice among policies by measured joules") if "node-order" not in world.house.query("policy", "get")["policies"] else \
        partly("policy node-order exists", "write this row")


@row("L15", "learning online saves where experience counts")
def l15(world):
    return elsewhere("days of simulated learning (lab/docs/placement.md)", "tests/unit/lab/bench/pairs_test.cpp", "tests/integration/sim/learning_test.cpp")
