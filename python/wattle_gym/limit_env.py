"""LimitEnv: CPU limits of services as an environment. The package's README describes spaces and rules."""
import gymnasium
import numpy as np

from .env import FIRST_REPORTED_SEED
from .protocol import LimitEpisode

FEATURE_LIMIT = 1e6


class LimitEnv(gymnasium.Env):
    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, render_mode=None, **options):
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode {render_mode!r} is not ansi")
        self.render_mode, self._seen = render_mode, None
        self._episode = LimitEpisode(**options)
        about = self._episode.about
        self.service_features, self.minute_features = about["service_features"], about["minute_features"]
        self.level_cores, self.target_s = np.asarray(about["level_cores"]), about["target_s"]
        services = int(about["services"])

        def box(shape):
            return gymnasium.spaces.Box(0, FEATURE_LIMIT, shape, np.float32)

        self.action_space = gymnasium.spaces.MultiDiscrete([len(self.level_cores)] * services)
        self.observation_space = gymnasium.spaces.Dict({
            "services": box((services, len(self.service_features))),
            "minute": box((len(self.minute_features),)),
        })

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        # Without a seed, draw one from the environment's generator, below the seeds that Wattle reports results on.
        chosen = seed if seed is not None else int(self.np_random.integers(1, FIRST_REPORTED_SEED))
        return self._reported(self._episode.reset(chosen))

    def step(self, action):
        digits = np.asarray(action, np.int64).ravel()
        if not self.action_space.contains(digits):
            raise ValueError(f"{action!r} is not a level for each service")
        # Encodes the levels as one number, with one digit per service; the first service's digit is the lowest.
        answer = self._episode.step(sum(int(digit) * len(self.level_cores) ** place for place, digit in enumerate(digits)))
        observation, info = self._reported(answer)
        return observation, float(answer["reward"]), bool(answer["done"]), False, info

    def render(self):
        """The cores used and the limit of each service, as text."""
        if self.render_mode is None:
            return None
        return "".join(f"service {number}: used {used:6.2f} cores, limit {limit:6.2f}, throttled {100 * throttled:3.0f}% of periods\n"
                       for number, (used, throttled, limit) in enumerate(self._seen["services"]))

    def close(self):
        self._episode.close()

    def _reported(self, answer):
        reported = answer["observation"]
        if reported is None:  # the episode is over: all zeros
            observation = {name: np.zeros(space.shape, space.dtype) for name, space in self.observation_space.spaces.items()}
        else:
            observation = {name: np.clip(np.asarray(reported[name], np.float32), 0, FEATURE_LIMIT) for name in ("services", "minute")}
        self._seen = observation
        info = {"time_s": float(answer["time_s"])}
        if "figures" in answer:
            info["figures"] = answer["figures"]
        return observation, info
