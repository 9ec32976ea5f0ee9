"""Gymnasium environments on `wattle-sim`: placement of pods on servers, and CPU limits of services. Importing this
package registers them (wattle_gym/ids.py), if gymnasium is installed; `protocol` does not need it."""
import importlib.util

from .protocol import Episode, LimitEpisode, Refused, SimulatorGone, find_simulator

__all__ = ["Episode", "LimitEnv", "LimitEpisode", "Refused", "SimulatorGone", "find_simulator", "make", "make_limits", "WattleEnv"]


def make(**options):
    """Creates a WattleEnv with these constructor options."""
    from .env import WattleEnv

    return WattleEnv(**options)


def make_limits(**options):
    """Creates a LimitEnv with the given constructor options."""
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


if importlib.util.find_spec("gymnasium"):
    from . import ids

    ids.register()
