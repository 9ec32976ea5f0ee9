#!/usr/bin/env python3
"""A single-file DQN in the form of CleanRL's, with action masks, on wattle/Churn-v0; compared with random nodes.

CleanRL's own dqn.py takes a vector and no masks: give it --env-id wattle_gym:wattle/ChurnFlat-v0.

Usage: dqn.py [STEPS]      default: 30000, a few minutes
Needs  pip install torch, and wattle-gym"""
import random
import sys
import time

import gymnasium
import numpy as np
import torch
from torch import nn

import wattle_gym  # noqa: F401  registers the environments
from comparison import compare

PODS, BATCH, KEPT, GAMMA, LEARNING_RATE = 150, 128, 20_000, 0.9, 5e-4
LEARN_FROM, LEARN_EVERY, TARGET_EVERY = 1_000, 4, 500
PARTS = ("nodes", "pod", "context", "prior")


def vector(seen):
    return np.concatenate([np.ravel(seen[part]) for part in PARTS]).astype(np.float32)


def best(values, masks):
    return values.masked_fill(~masks, -1e9)


class Replay:
    def __init__(self, size):
        self.states, self.next_states = np.zeros((2, KEPT, size), np.float32)
        self.actions, self.rewards, self.over = np.zeros(KEPT, np.int64), np.zeros(KEPT, np.float32), np.zeros(KEPT, np.float32)
        self.next_masks, self.count = None, 0

    def add(self, state, action, reward, next_state, next_mask, over):
        if self.next_masks is None:
            self.next_masks = np.zeros((KEPT, len(next_mask)), bool)
        at = self.count % KEPT
        self.states[at], self.actions[at], self.rewards[at] = state, action, reward
        self.next_states[at], self.next_masks[at], self.over[at] = next_state, next_mask, over
        self.count += 1

    def sample(self):
        rows = np.random.randint(0, min(self.count, KEPT), BATCH)
        fields = (self.states, self.actions, self.rewards, self.next_states, self.next_masks, self.over)
        return [torch.from_numpy(field[rows]) for field in fields]


def train(env, steps):
    seen, _ = env.reset(seed=1)
    size, nodes = len(vector(seen)), env.action_space.n
    network, target = (nn.Sequential(nn.Linear(size, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, nodes)) for _ in range(2))
    target.load_state_dict(network.state_dict())
    optimizer, replay = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE), Replay(size)
    state, mask = vector(seen), seen["action_mask"].astype(bool)
    for step in range(steps):
        if random.random() < max(0.05, 1 - step / (0.5 * steps)):
            action = int(np.random.choice(np.flatnonzero(mask)))
        else:
            with torch.no_grad():
                action = int(best(network(torch.from_numpy(state)), torch.from_numpy(mask)).argmax())
        seen, reward, terminated, truncated, _ = env.step(action)
        next_state, next_mask = vector(seen), seen["action_mask"].astype(bool)
        replay.add(state, action, reward, next_state, next_mask, terminated)
        if terminated or truncated:
            seen, _ = env.reset()
            next_state, next_mask = vector(seen), seen["action_mask"].astype(bool)
        state, mask = next_state, next_mask
        if step >= LEARN_FROM and step % LEARN_EVERY == 0:
            states, actions, rewards, next_states, next_masks, over = replay.sample()
            with torch.no_grad():
                ahead = best(target(next_states), next_masks).max(1).values * (1 - over)
                wanted = rewards + GAMMA * torch.where(over > 0, torch.zeros_like(ahead), ahead)
            loss = nn.functional.smooth_l1_loss(network(states).gather(1, actions[:, None])[:, 0], wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if step % TARGET_EVERY == 0:
            target.load_state_dict(network.state_dict())
    return network


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
    for seeded in (random.seed, np.random.seed, torch.manual_seed):
        seeded(1)
    env = gymnasium.make("wattle/Churn-v0", placements=PODS)
    began = time.monotonic()
    network = train(env, steps)
    print(f"{steps} steps, {steps / (time.monotonic() - began):.0f} a second with learning")

    def rule(seen):
        with torch.no_grad():
            return int(best(network(torch.from_numpy(vector(seen))), torch.from_numpy(seen["action_mask"].astype(bool))).argmax())

    compare(env, rule, "DQN")
    env.close()


if __name__ == "__main__":
    main()
