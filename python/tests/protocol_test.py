#!/usr/bin/env python3
"""protocol_test.py WATTLE_SIM: tests the protocol of `wattle-sim env` and `provision-env` with the standard library."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wattle_gym.protocol import Episode, LimitEpisode, Refused, SimulatorGone  # noqa: E402

SIMULATOR = sys.argv[1]


def play(episode, seed):
    """Plays an episode that always takes the first allowed node; returns all rewards and masks."""
    answer, seen = episode.reset(seed), []
    while not answer["done"]:
        mask = answer["observation"]["mask"]
        assert 1 in mask, "nothing is allowed"
        seen.append((answer["reward"], mask, answer["observation"]["nodes"]))
        answer = episode.step(mask.index(1))
    assert answer["observation"] is None and answer["figures"]["energy_j"] > 0
    return seen, answer["figures"]


def shapes_are_as_announced():
    with Episode(SIMULATOR, scenario="thesis_test2", placements=40) as episode:
        about = episode.about
        assert about["protocol"] == 1 and about["nodes"] == 3 and about["scenario"] == "thesis_test2"
        reported = episode.reset(1)["observation"]
        assert len(reported["nodes"]) == len(reported["mask"]) == len(reported["prior"]) == 3
        assert all(len(row) == len(about["node_features"]) == 36 for row in reported["nodes"])
        assert len(reported["pod"]) == len(about["pod_features"]) and len(reported["context"]) == len(about["context_features"])


def a_seed_gives_the_same_episode():
    with Episode(SIMULATOR, placements=60) as one, Episode(SIMULATOR, placements=60) as other:
        assert play(one, 5) == play(other, 5)
        assert play(one, 5) == play(other, 5)  # no state of the previous episode remains
        assert play(one, 6) != play(other, 5)


def refusals_change_nothing():
    with Episode(SIMULATOR, scenario="fill", nodes=4, placements=400) as episode:
        for early in (0, 99):
            try:
                episode.step(early)
                raise AssertionError("a step before reset was accepted")
            except Refused as refusal:
                assert refusal.code == "conflict" and "reset" in refusal.fix
        answer = episode.reset(3)
        while not answer["done"] and answer["observation"]["mask"][0]:
            answer = episode.step(0)
        assert not answer["done"], "node 0 never filled"
        for _ in range(2):
            try:
                episode.step(0)
                raise AssertionError("a masked action was accepted")
            except Refused as refusal:
                assert refusal.code == "out_of_range" and "masked" in refusal.what
        mask = answer["observation"]["mask"]
        episode.step(mask.index(1))


def bad_lines_are_answered_one_by_one():
    lines = ["", "{", "[]", "null", '{"op":1}', '{"op":"fly"}', '{"op":"reset"}', '{"op":"reset","seed":-1}',
             '{"op":"reset","seed":1.5}', '{"op":"step","action":"0"}', '{"op":"hello","more":1}', "\xff\xfe", "x" * 10_000,
             '{"op":"reset","seed":18446744073709551616}', '{"op":"close"}', '{"op":"hello"}']
    done = subprocess.run([SIMULATOR, "env", "--placements", "5"], input="\n".join(lines).encode("latin-1"),
                          capture_output=True, timeout=60, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert len(answers) == len(lines) - 2, answers  # the empty line gets no answer, and lines after close are not read
    assert all(answer["error"]["what"] for answer in answers[:-1]) and answers[-1] == {"closed": True}


def an_unknown_scenario_ends_with_its_reason():
    try:
        Episode(SIMULATOR, scenario="nope")
        raise AssertionError("an unknown scenario was accepted")
    except SimulatorGone as gone:
        assert "nope" in str(gone) and "churn_sleep" in str(gone), gone


def a_simulator_that_dies_ends_with_its_code():
    episode = Episode(SIMULATOR, placements=40)
    episode.reset(1)
    episode._child.kill()
    try:
        episode.step(0)
        raise AssertionError("a killed simulator answered")
    except SimulatorGone as gone:
        assert "-9" in str(gone), gone
    episode.close()


def limits_speak_the_same_lines():
    with LimitEpisode(SIMULATOR, services=2, minutes=5) as episode:
        about = episode.about
        levels = len(about["level_cores"])
        assert about["environment"] == "provision" and about["services"] == 2 and levels == 32
        assert about["level_cores"] == sorted(about["level_cores"]) and about["level_cores"][-1] == 4

        def play_limits(seed, level):
            answer, total, steps = episode.reset(seed), 0.0, 0
            while not answer["done"]:
                assert len(answer["observation"]["services"]) == 2 and len(answer["observation"]["minute"]) == 6
                answer = episode.step(level + level * levels)
                total, steps = total + answer["reward"], steps + 1
            assert steps in (300, 301) and answer["observation"] is None
            return total, answer["figures"]

        plenty, starved = play_limits(4, levels - 1), play_limits(4, 5)
        assert play_limits(4, levels - 1) == plenty
        assert plenty[1]["minutes"] == 5 and plenty[1]["minutes_over"] == 0 and abs(plenty[1]["granted_cores"] - 8) < 0.1
        assert starved[1]["minutes_over"] == 5 and starved[0] < plenty[0]
        episode.reset(4)
        for action in (levels ** 2, 2 ** 60):
            try:
                episode.step(action)
                raise AssertionError("an invalid action was accepted")
            except Refused as refusal:
                assert refusal.code == "out_of_range"
        assert not episode.step(0)["done"]


for check in (shapes_are_as_announced, a_seed_gives_the_same_episode, refusals_change_nothing,
              bad_lines_are_answered_one_by_one, limits_speak_the_same_lines, an_unknown_scenario_ends_with_its_reason,
              a_simulator_that_dies_ends_with_its_code):
    check()
    print("ok:", check.__name__.replace("_", " "))
