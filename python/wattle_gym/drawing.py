"""Draws the nodes of an observation, as text or as an image: requested and used share of CPU, asleep, masked."""
import numpy as np

BAR = 20  # characters
WIDTH, HEIGHT, GAP = 24, 96, 6  # pixels of a node
PAPER, REQUESTED, USED, ASLEEP, MASKED = (255, 255, 255), (158, 202, 225), (33, 113, 181), (217, 217, 217), (203, 24, 29)


def _column(observation, names, feature):
    return np.clip(np.asarray(observation["nodes"])[:, names.index(feature)], 0, 1)


def as_text(observation, features, names):
    requested, used = _column(observation, features, "cpu_requested"), _column(observation, features, "cpu_used")
    asleep, mask = _column(observation, features, "asleep"), observation["action_mask"]
    lines = [f"{'node':<16} {'CPU: requested .  used #':<{BAR + 2}}  used  requested"]
    for row, name in enumerate(names):
        full, part = round(BAR * used[row]), round(BAR * max(requested[row], used[row]))
        notes = ("  asleep" if asleep[row] else "") + ("" if mask[row] else "  masked")
        bar = ("#" * full).ljust(part, ".").ljust(BAR)
        lines.append(f"{name:<16} [{bar}]  {100 * used[row]:3.0f}%  {100 * requested[row]:8.0f}%{notes}")
    return "\n".join(lines) + "\n"


def as_image(observation, features):
    requested, used = _column(observation, features, "cpu_requested"), _column(observation, features, "cpu_used")
    asleep, mask = _column(observation, features, "asleep"), observation["action_mask"]
    count = len(requested)
    image = np.full((HEIGHT + 3 * GAP, count * (WIDTH + GAP) + GAP, 3), PAPER, np.uint8)
    for row in range(count):
        left = GAP + row * (WIDTH + GAP)
        across = slice(left, left + WIDTH)
        image[GAP:GAP + HEIGHT, across] = ASLEEP if asleep[row] else PAPER
        for share, colour, part in ((requested[row], REQUESTED, across), (used[row], USED, slice(left + WIDTH // 4, left + 3 * WIDTH // 4))):
            top = GAP + HEIGHT - round(HEIGHT * float(share))
            image[top:GAP + HEIGHT, part] = colour
        if not mask[row]:
            image[HEIGHT + 2 * GAP - 2:HEIGHT + 2 * GAP + 2, across] = MASKED
    return image
