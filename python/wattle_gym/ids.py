"""Ids of the environments for gymnasium.make. Options of the constructors are keyword arguments of make."""
import gymnasium

PLACEMENT = {"wattle/Churn-v0": "churn_sleep", "wattle/Fill-v0": "fill_sleep", "wattle/Thesis-v0": "thesis_test2"}


def flat(**options):
    """The placement environment with one vector as observation, for learners that take no dictionary."""
    from .env import WattleEnv

    return gymnasium.wrappers.FlattenObservation(WattleEnv(**options))


def register():
    for name, scenario in PLACEMENT.items():
        gymnasium.register(name, entry_point="wattle_gym.env:WattleEnv", kwargs={"scenario": scenario})
    gymnasium.register("wattle/ChurnFlat-v0", entry_point="wattle_gym.ids:flat", kwargs={"scenario": "churn_sleep"})
    gymnasium.register("wattle/Limits-v0", entry_point="wattle_gym.limit_env:LimitEnv")
