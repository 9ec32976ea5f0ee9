"""WattleEnv: placement of pods as an environment. The package's README describes spaces and rules."""
import gymnasium
import numpy as np

from . import drawing
from .protocol import Episode, Refused

# Bound of all features, which are ratios, logarithms, flags and relative values (placement/worth/features.md).
FEATURE_LIMIT = 20.0
PRIOR_LIMIT = 1e6
MOST_INVALID = 100  # number of consecutive masked actions that truncates the episode
FIRST_REPORTED_SEED = 2_000_000


class WattleEnv(gymnasium.Env):
    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(self, invalid_reward=-1.0, render_mode=None, **options):
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode {render_mode!r} is none of {', '.join(self.metadata['render_modes'])}")
        self.render_mode = render_mode
        self.invalid_reward = float(invalid_reward)
        self._episode = Episode(**options)
        about = self._episode.about
        self.node_features, self.pod_features = about["node_features"], about["pod_features"]
        self.context_features = about["context_features"]
        count = self._nodes = int(about["nodes"])

        def box(shape, limit=FEATURE_LIMIT):
            return gymnasium.spaces.Box(-limit, limit, shape, np.float32)

        self.action_space = gymnasium.spaces.Discrete(count)
        self.observation_space = gymnasium.spaces.Dict({
            "nodes": box((count, len(self.node_features))),
            "pod": box((len(self.pod_features),)),
            "context": box((len(self.context_features),)),
            "prior": box((count,), PRIOR_LIMIT),
            "action_mask": gymnasium.spaces.MultiBinary(count),
        })
        self._answer, self._invalid = None, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        # Without a seed, draw one from the environment's generator, below the seeds that Wattle reports results on.
        chosen = seed if seed is not None else int(self.np_random.integers(1, 1_000_000))
        self._answer, self._invalid = self._episode.reset(chosen), 0
        return self._observation(), self._info()

    def step(self, action):
        try:
            self._answer = self._episode.step(action)
        except Refused as refusal:
            if refusal.code != "out_of_range":
                raise
            self._invalid += 1
            info = self._info()
            info["invalid"] = f"{refusal.subject} {refusal.what}"
            return self._observation(), self.invalid_reward, False, self._invalid >= MOST_INVALID, info
        self._invalid = 0
        return self._observation(), float(self._answer["reward"]), bool(self._answer["done"]), False, self._info()

    def action_masks(self):
        """Mask of allowed actions, in the form that sb3-contrib's MaskablePPO expects."""
        return self._observation()["action_mask"].astype(bool)

    def render(self):
        """Draws the nodes of the current observation; an episode that is over has none."""
        if self.render_mode is None:
            return None
        observation = self._observation()
        if self.render_mode == "rgb_array":
            return drawing.as_image(observation, self.node_features)
        return drawing.as_text(observation, self.node_features, self._answer.get("names", []))

    def close(self):
        self._episode.close()

    def _observation(self):
        reported = self._answer["observation"]
        if reported is None:  # the episode is over: all zeros, no allowed action
            return {name: np.zeros(space.shape, space.dtype) for name, space in self.observation_space.spaces.items()}
        observation = {name: np.asarray(reported[name], np.float32) for name in ("nodes", "pod", "context", "prior")}
        observation["action_mask"] = np.asarray(reported["mask"], np.int8)
        return observation

    def _info(self):
        info = {"settled": int(self._answer["settled"]), "turned_away": int(self._answer["turned_away"]),
                "action_mask": self._observation()["action_mask"]}
        if "figures" in self._answer:
            info["figures"] = self._answer["figures"]
        return info
