"""Warming a cluster up before its trials."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.model import Case, Load, Pacing, Topic, Trial
from bench.run.compilers import Compilers
from bench.run.testbed import Testbed, ignore_progress

_CLIENTS = 64
"""So many producers are connected at a time, over all cases; each case has from 2 to 16 of them."""
_FEWEST, _MOST = 2, 16
_ROUND_S, _TURN_S = 4.0, 0.5
"""The least length of a round, or the whole warm-up where that is shorter, and of a turn: each case's in a round."""
_COMPILER_SHARE, GROWTH = 0.15, 1.1
"""Compilers rest when, under load, all of them together take less than this share of a core; and a round that has so
many times the acknowledgements of the one before is no rest."""


def warm_up(testbed: Testbed, cases: Sequence[Case], most_s: float, working: Path) -> list[dict[str, Any]]:
    """Send to throw-away topics until the servers' compilers rest under load and it gets no faster, or for `most_s`.

    A fresh JVM compiles what it is asked to do often, and each trial would be faster than the one before (seen:
    four times as fast after 18 trials). So the load goes on, in rounds with a turn for each case. What is left out
    stays slow (seen: with acks=0 alone, acks=all took its servers twice the CPU for a message afterwards). Each
    case has many synchronous producers, since what counts is how many requests the servers see; its consumers; and
    its servers are asked for their figures once a round. All topics and connections are there all the time. Cases
    that differ in their disk or the size of their nodes only have one turn, as neither is emulated yet. A turn does
    not wait for consumers: with acks=0 they took most of the time.

    Returns of each round how many turns it had, their acknowledgements, the share of a core that compilers took, and
    whether that is rest. The first round is whole whatever it takes; the last one may have turns for some only.
    """
    once = _distinct_cases(cases)
    loads = [
        _WarmUpLoad(
            Trial(number, 0, replace(case, load=_load(case, len(once), most_s))),
            testbed.topic(case, f"warm-up-{time.monotonic_ns()}"),
        )
        for number, case in enumerate(once)
    ]
    with _connect_loads(testbed, loads, working) as turns:
        return in_rounds(turns, Compilers(testbed.cluster.backend.pids().values), most_s)


def in_rounds(
    turns: Sequence[Callable[[], int]], compilers: Compilers, most_s: float
) -> list[dict[str, Any]]:
    """Take turns, each of which returns its acknowledgements, in rounds until compilers rest; see `warm_up`."""
    rounds: list[dict[str, Any]] = []
    end_s, longest_s = time.monotonic() + most_s, 0.0
    while not (rounds and rounds[-1]["rested"]) and time.monotonic() + longest_s <= end_s:
        begun_s, acks = time.monotonic(), []
        for turn in turns:
            turn_begun_s = time.monotonic()
            if rounds and turn_begun_s + longest_s > end_s:
                break
            acks.append(turn())
            longest_s = max(longest_s, time.monotonic() - turn_begun_s)
        share = compilers.took_s() / (time.monotonic() - begun_s)
        last_acks = rounds[-1]["acks"] if rounds else 0
        steady = len(acks) == len(turns) and sum(acks) < GROWTH * last_acks
        rounds.append(round_summary(acks, share, steady=steady))
    return rounds


def round_summary(acks: Sequence[int], share: float, *, steady: bool) -> dict[str, Any]:
    """Return what manifest.json keeps of a round: turns, acknowledgements, and the share of a core that compilers took.

    It is rest where compilers took little and nothing got faster (`steady`).
    """
    return {
        "turns": len(acks),
        "acks": sum(acks),
        "compilers": round(share, 3),
        "rested": steady and share < _COMPILER_SHARE,
    }


@dataclass(slots=True)
class _WarmUpLoad:
    """The load of one case on a topic of its own, as a trial in slices."""

    trial: Trial
    topic: Topic
    slices: int = 0


@contextmanager
def _connect_loads(
    testbed: Testbed, loads: Sequence[_WarmUpLoad], working: Path
) -> Iterator[list[Callable[[], int]]]:
    """Connect the loads of a cluster; give their turns, and take everything away again."""
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, working, ignore_errors=True)
        sampler = stack.enter_context(testbed.slice_sampler())
        testbed.create_topics([load.topic for load in loads])
        for load in loads:
            folder = working / load.topic.name
            for stage in ("sends", "receives"):
                (folder / stage).mkdir(parents=True)
            testbed.subscribe(load.trial, load.topic, folder / "receives")
            testbed.open(load.trial, load.topic, folder / "sends")

        def turn(load: _WarmUpLoad) -> int:
            scraped = load is loads[0] and load.trial.case.telemetry
            if scraped:  # a server's first scrapes take it ten times the CPU
                sampler.look_before(load.trial.number, load.slices, scraped=True)
            acks = testbed.load_slice(load.trial, load.slices, ignore_progress).acked
            load.slices += 1
            return acks

        yield [partial(turn, load) for load in loads]
        for load in loads:
            testbed.close(load.trial)
            if load.trial.case.load.consumers:
                testbed.catch_up(load.trial.number, expected=0)
        testbed.delete_topics([load.topic for load in loads])


def _load(case: Case, cases: int, most_s: float) -> Load:
    """Return the load of one of `cases` cases; the whole warm-up takes at most `most_s`."""
    return replace(
        case.load,
        producers=min(_MOST, max(_FEWEST, _CLIENTS // cases)),
        window=1,
        pacing=Pacing(),
        warm_up_s=0.0,
        duration_s=max(_TURN_S, min(_ROUND_S, most_s) / cases),
        messages=None,
        slices=1,
    )


def _distinct_cases(cases: Sequence[Case]) -> list[Case]:
    """Return the cases that differ in more than what they are called and what their disk costs; the first of each."""
    distinct_cases: list[Case] = []
    plain_cases: list[Case] = []
    for case in cases:
        plain = replace(case, name="", swept={}, disk={}, node_size={})
        if plain not in plain_cases:
            plain_cases.append(plain)
            distinct_cases.append(case)
    return distinct_cases
