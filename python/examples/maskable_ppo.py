#!/usr/bin/env python3
"""Trains sb3-contrib's MaskablePPO on wattle/Churn-v0 and compares it with random nodes on other seeds.

Usage: maskable_ppo.py [STEPS]      default: 30000, a few minutes
Needs  pip install sb3-contrib, and wattle-gym"""
import sys
import time

import gymnasium
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import wattle_gym  # noqa: F401  registers the environments
from comparison import compare

ENVS, PODS = 4, 150


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
    envs = make_vec_env("wattle/Churn-v0", n_envs=ENVS, seed=1, env_kwargs={"placements": PODS})
    model = MaskablePPO("MultiInputPolicy", envs, n_steps=256, batch_size=256, n_epochs=10, gamma=0.9, learning_rate=1e-3, seed=1)
    began = time.monotonic()
    model.learn(steps)
    print(f"{steps} steps, {steps / (time.monotonic() - began):.0f} a second with learning, {ENVS} environments in this process")
    envs.close()
    env = gymnasium.make("wattle/Churn-v0", placements=PODS)
    compare(env, lambda seen: int(model.predict(seen, action_masks=seen["action_mask"], deterministic=True)[0]), "MaskablePPO")
    env.close()


if __name__ == "__main__":
    main()
