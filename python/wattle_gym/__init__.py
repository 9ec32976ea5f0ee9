"""Gymnasium environments over `wattle-sim`: placement of pods on simulated servers, and CPU limits of simulated services."""
from .protocol import Episode, LimitEpisode, Refused, SimulatorGone, find_simulator

__all__ = ["Episode", "LimitEnv", "LimitEpisode", "Refused", "SimulatorGone", "find_simulator", "make", "make_limits", "WattleEnv"]


def make(**options):
    """A WattleEnv; options as its constructor's. Gymnasium is imported here, not with the package."""
    from .env import WattleEnv

    return WattleEnv(**options)


def make_limits(**options):
    """A LimitEnv; options as its constructor's."""
    from .limit_env import LimitEnv

    return LimitEnv(**options)


def __getattr__(name):
    if name == "WattleEnv":
        from .env import WattleEnv

        return WattleEnv
    if name == "LimitEnv":
        from .limit_env import LimitEnv

        return LimitEnv
    raise AttributeError(name)
