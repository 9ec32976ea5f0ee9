"""Runs gymnasium's environment checker on ours, and further checks. gymnasium_test.py starts it."""
import sys
import warnings

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

import wattle_gym

simulator = sys.argv[1]
for scenario in ("churn_sleep", "thesis_test2"):
    env = wattle_gym.make(simulator=simulator, scenario=scenario, placements=40)
    assert isinstance(env, gymnasium.Env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the checker's advice counts as failure
        check_env(env, skip_render_check=True)
    env.close()

env = wattle_gym.make(simulator=simulator, scenario="fill", nodes=3, placements=200)
observation, info = env.reset(seed=3)
for _ in range(10_000):
    allowed = np.flatnonzero(info["action_mask"])
    assert (env.action_masks() == info["action_mask"].astype(bool)).all()
    if not info["action_mask"].all():
        masked = int(np.flatnonzero(info["action_mask"] == 0)[0])
        same, reward, terminated, truncated, reported = env.step(masked)
        assert reward == -1 and not terminated and not truncated and "masked" in reported["invalid"]
        assert all((same[name] == observation[name]).all() for name in same)
    observation, reward, terminated, truncated, info = env.step(int(allowed[-1]))
    assert env.observation_space.contains(observation)
    if terminated:
        break
assert terminated and info["figures"]["energy_j"] > 0
env.close()
env = wattle_gym.make_limits(simulator=simulator, services=2, minutes=5)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    check_env(env, skip_render_check=True)
observation, info = env.reset(seed=3)
terminated, total = False, 0.0
while not terminated:
    assert env.observation_space.contains(observation)
    used = observation["services"][:, 0]
    observation, reward, terminated, truncated, info = env.step(np.searchsorted(env.level_cores, used * 1.5 + 0.2))
    total += reward
assert info["figures"]["granted_cores"] > info["figures"]["used_cores"] > 0 and total < 0
for wrong in ([0], [0, 32], [-1, 0]):
    try:
        env.step(wrong)
        raise SystemExit(f"{wrong} was taken")
    except ValueError:
        pass
env.close()
print("gymnasium", gymnasium.__version__, "accepts both environments")
