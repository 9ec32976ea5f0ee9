"""Plays whole episodes of an environment with a rule, and prints joules and reward of rules on the same seeds."""
import numpy as np

SEEDS = range(900_001, 900_006)  # not used for training by the examples


def random_rule(seed):
    generator = np.random.default_rng(seed)
    return lambda observation: int(generator.choice(np.flatnonzero(observation["action_mask"])))


def prior_rule(observation):
    """The node with the highest predicted reward: Wattle's models without a network."""
    return int(np.argmax(np.where(observation["action_mask"], observation["prior"], -np.inf)))


def play(env, rule, seed):
    observation, info = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(rule(observation))
        total, over = total + reward, terminated or truncated
    return info["figures"]["energy_j"], total


def compare(env, learned, name):
    """Prints a line per rule: mean joules, difference from random nodes, mean reward of an episode."""
    rules = {"random node": None, "best prior": prior_rule, name: learned}
    base_j = None
    for called, rule in rules.items():
        played = [play(env, rule or random_rule(seed), seed) for seed in SEEDS]
        joules, reward = np.mean([j for j, _ in played]), np.mean([total for _, total in played])
        base_j = base_j or joules
        print(f"{called:<14} {joules / 1e6:7.3f} MJ  {100 * (joules / base_j - 1):+6.1f}%  reward {reward:8.1f}", flush=True)
