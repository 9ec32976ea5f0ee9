"""Runs gymnasium's environment checker on ours, and further checks. gymnasium_test.py starts it."""
import warnings

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

import wattle_gym

for scenario in ("churn_sleep", "thesis_test2"):
    env = wattle_gym.make(scenario=scenario, placements=40)
    assert isinstance(env, gymnasium.Env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the checker's advice counts as failure
        check_env(env, skip_render_check=True)
    env.close()

# By their ids: render modes too, and several environments in one process.
for name, options in (("Churn", {"placements": 40}), ("Fill", {"placements": 40}), ("Thesis", {"placements": 40}), ("ChurnFlat", {"placements": 40}),
                      ("Limits", {"minutes": 5})):
    env = gymnasium.make(f"wattle/{name}-v0", render_mode="ansi", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=name == "ChurnFlat")
    env.reset(seed=3)
    assert "CPU" in env.render() or "limit" in env.render(), env.render()
    env.close()
env = gymnasium.make("wattle/Churn-v0", render_mode="rgb_array", placements=40)
env.reset(seed=3)
empty = env.render()
for _ in range(20):
    env.step(int(np.flatnonzero(env.unwrapped.action_masks())[0]))
assert empty.dtype == np.uint8 and empty.shape == env.render().shape and (empty != env.render()).any()
env.close()
several = gymnasium.make_vec("wattle/Churn-v0", num_envs=3, placements=40)
observations, _ = several.reset(seed=3)
for _ in range(30):
    observations, rewards, terminated, truncated, _ = several.step(np.array([int(mask.argmax()) for mask in observations["action_mask"]]))
assert observations["nodes"].shape[0] == 3 and (observations["nodes"][0] != observations["nodes"][1]).any()
several.close()

env = wattle_gym.make(scenario="fill", nodes=3, placements=200)
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
env = wattle_gym.make_limits(services=2, minutes=5)
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
