"""How long a run is said to take, worked out by hand: what a trial needs besides its load or its steps is 2.7 s."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.run import estimate
from bench.run.plan import plan
from bench.scenario import load

BESIDES_S = 2.7
HEAD = """\
name: one
title: One
question: How long?
"""
STEPS = """\
systems:
  kafka:
    nodes: {controller: 1, broker: 3}
    topic: {replicas: 3}
    faults:
"""


def trial_s(folder: Path, text: str) -> float:
    file = folder / "one.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    (first, *_) = plan(load(file), 1).trials
    return estimate.trial_s(first.case)


@pytest.mark.parametrize(
    ("work", "seconds"),
    [
        (
            "duration: 10s\n",
            14.49,
        ),  # 20 slices and 3 to settle, with lead-in, each 30 ms longer than its load
        ("warm_up: {trial: 2s}\nmessages: 30000\n", 4),  # a closed loop: 15,000 a second at most
        ("warm_up: {trial: 1s}\nmessages: 30000\nload: {rate: 5000}\n", 7),
        ("warm_up: {trial: 1s}\nmessages: 30000\nload: {rate: 5000, producers: 3}\n", 7),
        ("warm_up: {trial: 1s}\nmessages: 30000\nload: {rate: 60000}\n", 3),
    ],
)
def test_a_load_takes_its_time_or_what_its_rate_asks_for(tmp_path: Path, work: str, seconds: float) -> None:
    told = trial_s(tmp_path, f"systems:\n  kafka: {{}}\n{work}")

    assert told == pytest.approx(seconds + BESIDES_S, abs=0.01)


@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        ("      - {when: {after: 3s}, kill: leader, heal: {after: 2s}}\n", 12),  # the load is longer
        (
            "      - {when: {after: 8s}, kill: leader, heal: never}\n      - {when: {after: 45s}, mark: true}\n",
            53,
        ),
        ("      - {when: {after: 8s}, kill: leader, heal: {after: 20s}}\n", 28),
        ("      - {when: {load: over}, kill: leader}\n      - {when: {after: 5s}, mark: true}\n", 17),
        ("      - {when: {after: 3s}, times: 3, kill: leader, heal: {after: 5s}}\n", 14),
        ("      - {when: {after: 4s}, times: always, kill: leader, heal: {after: 20s}}\n", 12),
    ],
)
def test_steps_that_wait_for_longer_than_the_load_count(tmp_path: Path, steps: str, seconds: float) -> None:
    told = trial_s(tmp_path, f"{STEPS}{steps}warm_up: {{trial: 2s}}\nduration: 10s\n")

    assert told == pytest.approx(seconds + BESIDES_S, abs=0.01)


def test_acknowledgements_come_in_their_share_of_the_load(tmp_path: Path) -> None:
    """1 s of warm-up and 6 s at 5,000 a second; half of the messages take half of that."""
    steps = "      - {when: {acks: 15000}, kill: leader, heal: {after: 20s}}\n"
    told = trial_s(tmp_path, f"{STEPS}{steps}warm_up: {{trial: 1s}}\nmessages: 30000\nload: {{rate: 5000}}\n")

    assert told == pytest.approx(3.5 + 20 + BESIDES_S, abs=0.01)
