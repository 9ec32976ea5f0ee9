#!/usr/bin/env python3
"""Trains CleanRL's own DQN (cleanrl/dqn.py, unmodified) on wattle/ChurnFlat-v0 and compares it with random nodes.

That DQN knows no action masks: while it learns, a masked node costs a reward of -1. The comparison applies the masks.

Usage: cleanrl_dqn.py [STEPS]      default: 20000, a few minutes
Needs  pip install torch 'gymnasium<1' tensorboard stable-baselines3==2.0.0, and wattle-gym;
       pip install --no-deps --ignore-requires-python cleanrl==1.2.0"""
import importlib.util
import pathlib
import runpy
import sys
import time

import gymnasium
import torch

import wattle_gym  # noqa: F401  registers the environments
from comparison import compare

PODS = 150


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    gymnasium.register("Short-v0", entry_point="wattle_gym.ids:flat", kwargs={"placements": PODS})
    peer = pathlib.Path(importlib.util.find_spec("cleanrl").submodule_search_locations[0], "dqn.py")
    sys.argv = [str(peer), "--env-id", "Short-v0", "--total-timesteps", str(steps), "--learning-starts", "1000", "--gamma", "0.9"]
    began = time.monotonic()
    network = runpy.run_path(str(peer), run_name="__main__")["q_network"]
    print(f"{steps} steps, {steps / (time.monotonic() - began):.0f} a second with learning")
    env = gymnasium.make("wattle/Churn-v0", placements=PODS)

    def rule(seen):
        flat = gymnasium.spaces.flatten(env.observation_space, seen)
        with torch.no_grad():
            values = network(torch.from_numpy(flat).float())
        return int(values.masked_fill(torch.from_numpy(seen["action_mask"]) == 0, -1e9).argmax())

    compare(env, rule, "CleanRL's DQN")
    env.close()


if __name__ == "__main__":
    main()
