"""Placement of pods on simulated servers: a Gymnasium environment over `wattle-sim env`."""
from .protocol import Episode, Refused, SimulatorGone, find_simulator

__all__ = ["Episode", "Refused", "SimulatorGone", "find_simulator", "make", "WattleEnv"]


def make(**options):
    """A WattleEnv; options as its constructor's. Gymnasium is imported here, not with the package."""
    from .env import WattleEnv

    return WattleEnv(**options)


def __getattr__(name):
    if name == "WattleEnv":
        from .env import WattleEnv

        return WattleEnv
    raise AttributeError(name)
