"""Warming a cluster up before its trials."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.model import Case, Pacing, Topic, Trial
from bench.run.compilers import Compilers
from bench.run.rig import Document, Rig

_PRODUCERS = 16
_ROUNDS = 4
_TURN_LEAST_S, _TURN_MOST_S = 1.0, 5.0
_REST, _GROWTH = 0.15, 1.1
"""Compilers rest when, under load, all of them together take less than this share of a core; and a round that has so
many times the acknowledgements of the one before is no rest."""


def warm_up(rig: Rig, cases: Sequence[Case], most_s: float, working: Path) -> list[Document]:
    """Send to throw-away topics until the servers' compilers rest under load and it gets no faster, or for `most_s`.

    A fresh JVM compiles what it is asked to do often, and each trial would be faster than the one before
    (seen: four times as fast after 18 trials). So the load goes on, in rounds with a turn for each case,
    for what is left out stays slow (seen: with acks=0 alone, acks=all took its servers twice the CPU for a
    message afterwards): with many synchronous producers, since what counts is how many requests the servers
    see, then with the case's own; with its consumers and with telemetry. Cases that differ in their disk
    only have one turn, as no disk is emulated yet. Returns of each round how many turns it had, their
    acknowledgements, the share of a core that compilers took, and whether that is rest; the last round may
    have turns for some only.
    """
    cases = _alike_once(cases)
    turn_s = min(_TURN_MOST_S, max(_TURN_LEAST_S, most_s / (_ROUNDS * len(cases))))
    compilers = Compilers(lambda: rig.cluster.backend.pids().values())
    rounds: list[Document] = []
    end_s, longest_s, rested = time.monotonic() + most_s, 0.0, False
    while not rested and time.monotonic() + longest_s <= end_s:
        begun_s, acks = time.monotonic(), []
        for case in cases:
            if (turn_begun_s := time.monotonic()) + longest_s > end_s:
                break
            acks.append(_turn(rig, case, turn_s, working))
            longest_s = max(longest_s, time.monotonic() - turn_begun_s)
        share = compilers.took_s() / (time.monotonic() - begun_s)
        before = rounds[-1]["acks"] if rounds else 0
        rested = len(acks) == len(cases) and share < _REST and sum(acks) < _GROWTH * before
        told = {"turns": len(acks), "acks": sum(acks), "compilers": round(share, 3), "rested": rested}
        rounds.append(told)
    return rounds


def _turn(rig: Rig, case: Case, seconds: float, working: Path) -> int:
    """Load a topic with many producers, then with as many as the case has; return the acknowledgements."""
    topic = Topic(f"warm-up-{time.monotonic_ns()}", case.partitions, case.topic)
    rig.cluster.admin.create_topic(topic)
    (working / "receives").mkdir(parents=True)
    rig.subscribe(Trial(0, 0, case), topic, working / "receives")
    acks = []
    for producers in (_PRODUCERS, case.load.producers):
        load = replace(
            case.load,
            producers=producers,
            window=1,
            pacing=Pacing(),
            warm_up_s=0.0,
            duration_s=seconds / 2,
            messages=None,
            slices=None,
        )
        sends = working / f"sends-{producers}"
        sends.mkdir(exist_ok=True)
        with rig.telemetry(case, working) as told:  # a server's first scrapes take it ten times the CPU
            acks.append(rig.produce(replace(case, load=load), topic, 0, sends, told)["acked"])
    if case.load.consumers:
        # Both loads count their messages from 0: those of the second are mostly the same.
        rig.catch_up(0, acks[0])
    rig.cluster.admin.delete_topic(topic)
    shutil.rmtree(working)
    return sum(acks)


def _alike_once(cases: Sequence[Case]) -> list[Case]:
    """Return the cases that differ in more than what they are called and what their disk costs; the first of each."""
    found: list[Case] = []
    known: list[Case] = []
    for case in cases:
        plain = replace(case, name="", swept={}, disk={})
        if plain not in known:
            known.append(plain)
            found.append(case)
    return found
