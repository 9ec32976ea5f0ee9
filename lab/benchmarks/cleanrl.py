#!/usr/bin/env python3
"""cleanrl: compares our training loop with CleanRL's DQN: same network, batch and replay, one thread each, in turn.

Usage    cleanrl.py BIN_DIR [--nodes 6] [--steps 6000] [--rounds 3] [--batch 128] [--every 10] [--json FILE]
Peer     cleanrl 1.2.0 from the Python package index. Its dqn.py is unmodified, except that loading replaces the class
         QNetwork with our network in torch. It uses its own replay (stable-baselines3 2.0.0), optimiser, loss, target
         network and logging
Torch    Debian's python3-torch, with the same libtorch and OpenBLAS that ours links
Arms     ours     train_bench: decisions in the simulator, by the code of `wattle-sim train`
         wattle   dqn.py on wattle_gym, which exchanges JSON lines with `wattle-sim env`: same scenario, but in a second
                  process
         free     dqn.py on an environment of the same shapes that costs nothing: an upper bound of the peer's speed
Gives    per second of CPU time of all processes of an arm (the machine may be busy): environment steps of the whole
         loop; gradient steps of sampling, targets, backward and optimiser. Medians over rounds, and the ratio of ours
         to each other arm
Differs  ours is Double DQN with masks, clipping and Polyak averaging, which is more work; the peer takes the maximum of
         the target network
Needs    python3-torch; pip, which installs the rest into ${XDG_CACHE_HOME:-~/.cache}/wattle/peers
"""
import argparse
import ast
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ["numpy==1.26.4", "gymnasium==0.29.1", "pandas", "matplotlib", "tensorboard"]
WITHOUT_NEEDS = ["stable-baselines3==2.0.0", "cleanrl==1.2.0"]  # installed without dependencies, which include another torch
PYTHON = "/usr/bin/python3"  # python3-torch is built for it
NODE, POD, CONTEXT, HIDDEN = 32, 16, 8, 64


def install():
    """Installs the peer's packages once and returns their folder."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "wattle/peers/cleanrl-1.2.0"
    if not (cache / "cleanrl/dqn.py").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(cache)]
        subprocess.run([*pip, *PACKAGES], check=True)
        subprocess.run([*pip, "--no-deps", "--ignore-requires-python", *WITHOUT_NEEDS], check=True)
    return cache


def spent():
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


def network_class(torch, nodes):
    """The network of models/frozen/layout.hpp in torch. An observation row holds nodes, pod, context, prior, mask."""
    nn = torch.nn

    class QNetwork(nn.Module):
        def __init__(self, _):
            super().__init__()
            self.node = nn.Sequential(nn.Linear(NODE, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
            self.ask = nn.Sequential(nn.Linear(POD + CONTEXT, HIDDEN), nn.ReLU())
            self.advantage_node = nn.Linear(HIDDEN, HIDDEN, bias=False)
            self.advantage_shared = nn.Linear(3 * HIDDEN, HIDDEN)
            self.advantage_out = nn.Linear(HIDDEN, 1, bias=False)
            self.value = nn.Sequential(nn.Linear(3 * HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))

        def forward(self, x):
            own, ask, prior, mask = torch.split(x, [nodes * NODE, POD + CONTEXT, nodes, nodes], dim=1)
            embedding = self.node(own.reshape(-1, nodes, NODE))
            valid = mask.unsqueeze(2)
            mean = (embedding * valid).sum(1) / valid.sum(1).clamp(min=1)
            most = (embedding * valid).amax(1)  # valid as the maximum because embeddings are not negative
            shared = torch.cat([mean, most, self.ask(ask)], 1)
            hidden = torch.relu(self.advantage_node(embedding) + self.advantage_shared(shared).unsqueeze(1))
            advantage = self.advantage_out(hidden).squeeze(2)
            centre = (advantage * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
            return prior + self.value(shared) + advantage - centre + (mask - 1) * 1e6

    return QNetwork


def environment(gymnasium, numpy, arm, nodes, scenario, simulator):
    size = nodes * NODE + POD + CONTEXT + 2 * nodes
    space = gymnasium.spaces.Box(-1e6, 1e6, (size,), numpy.float32)
    if arm == "free":
        class Free(gymnasium.Env):
            observation_space, action_space = space, gymnasium.spaces.Discrete(nodes)
            seen = numpy.ones(size, numpy.float32)
            at = 0

            def reset(self, *, seed=None, options=None):
                super().reset(seed=seed)
                return self.seen, {}

            def step(self, _):
                self.at += 1
                return self.seen, 0.0, self.at % 300 == 0, False, {}
        return Free
    sys.path.append(str(ROOT / "python"))
    import wattle_gym

    class Flat(gymnasium.ObservationWrapper):
        def __init__(self):
            super().__init__(wattle_gym.make(simulator=simulator, scenario=scenario, nodes=nodes))
            self.observation_space = space

        def observation(self, observation):
            parts = [observation[name].reshape(-1) for name in ("nodes", "pod", "context", "prior", "action_mask")]
            return numpy.concatenate(parts, dtype=numpy.float32)
    return Flat


def play(options):
    """Runs dqn.py once in this process and prints the same figures as train_bench."""
    import gymnasium
    import numpy
    import torch
    torch.set_num_threads(1)
    import stable_baselines3.common.buffers as buffers
    file = install() / "cleanrl/dqn.py"
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    kept = [part for part in tree.body if not (isinstance(part, ast.ClassDef) and part.name == "QNetwork")]
    if len(kept) + 1 != len(tree.body):
        sys.exit(f"cleanrl: {file} has not one class QNetwork")
    tree.body = kept
    made = environment(gymnasium, numpy, options.play, options.nodes, options.scenario, options.bin + "/wattle-sim")
    gymnasium.register("Peer-v0", entry_point=lambda **_: made())  # a lambda, because a wrapper's class has no metadata
    took = {"cpu": 0.0, "wall": 0.0, "steps": 0}
    begun = {}

    def sample(self, *arguments, _sample=buffers.ReplayBuffer.sample, **words):
        begun["cpu"], begun["wall"] = time.process_time(), time.perf_counter()
        return _sample(self, *arguments, **words)

    def step(self, *arguments, _step=torch.optim.Adam.step, **words):
        result = _step(self, *arguments, **words)
        if "cpu" in begun:
            took["cpu"] += time.process_time() - begun["cpu"]
            took["wall"] += time.perf_counter() - begun["wall"]
            took["steps"] += 1
        return result
    buffers.ReplayBuffer.sample, torch.optim.Adam.step = sample, step
    sys.argv = ["dqn.py", "--env-id", "Peer-v0", "--total-timesteps", str(options.steps), "--batch-size", str(options.batch),
                "--train-frequency", str(options.every), "--learning-starts", str(options.warmup), "--start-e", "0.2", "--end-e",
                "0.02", "--cuda", "False"]
    first = {}

    def reset(self, *arguments, _reset=gymnasium.vector.SyncVectorEnv.reset, **words):
        first.setdefault("cpu", time.process_time())
        first.setdefault("wall", time.perf_counter())
        return _reset(self, *arguments, **words)
    gymnasium.vector.SyncVectorEnv.reset = reset
    said, sys.stdout = sys.stdout, sys.stderr
    names = {"__name__": "__main__", "__file__": str(file), "QNetwork": network_class(torch, options.nodes)}
    exec(compile(tree, str(file), "exec"), names)  # pylint: disable=exec-used
    cpu, wall = time.process_time() - first["cpu"], time.perf_counter() - first["wall"]
    names["envs"].close()
    # The simulator's CPU time is known only after it ends; it includes its start and the first answer.
    children = os.times().children_user + os.times().children_system
    print(json.dumps({"steps": options.steps, "cpu_s": cpu + children, "wall_s": wall, "gradient_steps": took["steps"],
                      "gradient_cpu_s": took["cpu"], "gradient_wall_s": took["wall"]}), file=said)


def run_arm(arm, options, site):
    alone = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1",
                 PYTHONPATH=os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    words = ["--nodes", str(options.nodes), "--batch", str(options.batch), "--every", str(options.every), "--warmup",
             str(options.warmup), "--scenario", options.scenario]
    if arm == "ours":
        gradient_steps = max(100, (options.steps - options.warmup) // options.every)
        command = [options.bin + "/train_bench", options.scenario,
                   *map(str, (options.nodes, options.steps, options.batch, options.every, options.warmup, gradient_steps))]
    else:
        command = [PYTHON, __file__, options.bin, "--play", arm, "--steps", str(options.steps), *words]
    with tempfile.TemporaryDirectory() as folder:  # dqn.py writes runs/ in its working directory
        done = subprocess.run(command, env=alone, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cleanrl: {arm} failed: {done.stderr.strip()[-600:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin")
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--scenario", default="churn_sleep")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arms", default="ours,wattle,free")
    parser.add_argument("--json")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.bin = str(pathlib.Path(options.bin).resolve())
    if options.play:
        return play(options)
    site = install()
    if subprocess.run([PYTHON, "-c", "import torch"], env=dict(os.environ, PYTHONPATH=os.pathsep.join(
            [str(site), os.environ.get("PYTHONPATH", "")])), capture_output=True, check=False).returncode != 0:
        sys.exit(f"cleanrl: {PYTHON} has no torch: install python3-torch")
    arms = options.arms.split(",")
    reported = {arm: [] for arm in arms}
    for _ in range(options.rounds):
        for arm in arms:
            reported[arm].append(run_arm(arm, options, site))

    def rate(of, steps, seconds):
        return statistics.median(each[steps] / each[seconds] for each in of)
    rows = {arm: {"steps_per_cpu_s": rate(of, "steps", "cpu_s"), "steps_per_s": rate(of, "steps", "wall_s"),
                  "gradient_steps_per_cpu_s": rate(of, "gradient_steps", "gradient_cpu_s"),
                  "gradient_steps_per_s": rate(of, "gradient_steps", "gradient_wall_s")} for arm, of in reported.items()}
    print(f"{options.nodes} nodes, batch {options.batch}, a gradient step each {options.every} steps, {options.steps} steps, "
          f"medians of {options.rounds} rounds; of processor time (wall)")
    for arm, row in rows.items():
        line = (f"  {arm:7} {row['steps_per_cpu_s']:8.0f} ({row['steps_per_s']:6.0f}) steps/s  "
                f"{row['gradient_steps_per_cpu_s']:7.0f} ({row['gradient_steps_per_s']:5.0f}) gradient steps/s")
        if arm != "ours" and "ours" in rows:
            line += (f"  ours: x{rows['ours']['steps_per_cpu_s'] / row['steps_per_cpu_s']:.2f}, "
                     f"x{rows['ours']['gradient_steps_per_cpu_s'] / row['gradient_steps_per_cpu_s']:.2f}")
        print(line)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"rows": rows, "rounds": reported}) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
