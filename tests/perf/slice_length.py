"""Do slices and a long window tell the same? On one cluster, in turn, by throughput, median and p99.

    python -m bench.backends.sandbox tests.perf.slice_length kafka --blocks 6

There are two cases, a closed and an open loop, each with its topic and two sets of connected producers. One set is
loaded in windows of 6 s, the other in 12 slices of 0.5 s that alternate with those of the other case. Blocks of
windows and of slices follow one another in ABBA order. Prints for each case the ratio of slices to windows (median
over pairs of blocks, and their range). Also prints how long a send takes by the time since its slice began, over
the rest of the slice.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bench.backends import sandbox
from bench.model import Case, Load, Pacing, Topic, Trial
from bench.run import folder as run_folder
from bench.run import plan
from bench.run.cluster import cluster_folder, run_cluster
from bench.run.cluster_warm_up import warm_up
from bench.run.compilers import Compilers
from bench.run.load_machines import LoadPlan
from bench.run.testbed import Testbed, ignore_progress
from bench.scenario import find
from bench.scenario import load as read_scenario

WINDOW_S, SLICE_S, LEAD_IN_S = 6.0, 0.5, 0.1
SLICES = round(WINDOW_S / SLICE_S)
RATE = 200.0
AGES_MS = (0, 20, 50, 100, 200, 300, 400, 600)


@dataclass
class Way:
    """One case measured in one way: its trial, and the spans that count, by block."""

    trial: Trial
    topic: Topic
    sends: Path
    taken: int = 0
    blocks: list[list[tuple[int, int, int]]] = field(default_factory=list)
    """Of each block the slices: number, start_ns, end_ns."""


def cases(system: str) -> Iterator[tuple[str, Case]]:
    chosen = plan.plan(read_scenario(find("acks-sweep"), "standard"), 1)
    wanted = {
        "replicas": "2",
        "min.insync.replicas": "2",
        "acks": "all",
        "quorums": "2-2-2",
        "journalSyncData": "false",
    }
    case = next(
        trial.case
        for trial in chosen.trials
        if trial.case.system == system
        and all(str(value).lower() == wanted[name] for name, value in trial.case.swept.items())
    )
    yield "closed loop", case
    yield f"open loop, {RATE:.0f}/s", replace(case, load=replace(case.load, pacing=Pacing(((1.0, RATE),))))


def ways(testbed: Testbed, system: str, folder: Path) -> dict[str, tuple[Way, Way]]:
    """Connect each case in both ways, on one topic."""
    found = {}
    for number, (name, case) in enumerate(cases(system)):
        topic = Topic(f"slices-{number}", case.partitions, case.topic, case.group)
        testbed.cluster.admin.create_topic(topic)
        both = []
        for place, seconds in enumerate((WINDOW_S, SLICE_S)):
            load: Load = replace(case.load, warm_up_s=LEAD_IN_S, duration_s=seconds, consumers=0)
            trial = Trial(2 * number + place, 0, replace(case, load=load))
            sends = folder / f"{number}-{place}"
            testbed.open(trial, topic, sends)
            both.append(Way(trial, topic, sends))
        found[name] = (both[0], both[1])
    return found


def block(testbed: Testbed, chosen: Sequence[Way], slices: int) -> None:
    Compilers(testbed.cluster.backend.pids().values).use_idle_cores()  # as trials in slices have it
    for way in chosen:
        way.blocks.append([])
    for _ in range(slices):
        for way in random.sample(chosen, len(chosen)):
            done = testbed.run_slice(way.trial, way.taken, ignore_progress).slice
            way.blocks[-1].append((way.taken, done.start_ns, done.end_ns))
            way.taken += 1


def figures(way: Way) -> list[dict[str, float]]:
    """Return throughput (1/s), p50 and p99 (ns) of each block."""
    rows = pq.read_table(way.sends, columns=["slice", "sent_ns", "done_ns", "due_ns"]).to_pandas()
    found = []
    for spans in way.blocks:
        done, took = 0, []
        for number, start_ns, end_ns in spans:
            own = rows[rows["slice"] == number]
            done += int(((own["done_ns"] >= start_ns) & (own["done_ns"] < end_ns)).sum())
            inside = own[(own["sent_ns"] >= start_ns) & (own["sent_ns"] < end_ns)]
            took.append((inside["done_ns"] - inside["due_ns"]).to_numpy())
        times = np.concatenate(took)
        seconds = sum(end_ns - start_ns for _, start_ns, end_ns in spans) / 1e9
        found.append(
            {
                "throughput": done / seconds,
                "p50": float(np.median(times)),
                "p99": float(np.quantile(times, 0.99)),
            }
        )
    return found


def by_age(way: Way) -> dict[str, float]:
    """Return how long a send takes in the median, by the time since its slice began, over that of the rest."""
    rows = pq.read_table(way.sends, columns=["slice", "sent_ns", "done_ns"]).to_pandas()
    begun = rows["slice"].map({number: start for spans in way.blocks for number, start, _ in spans})
    age_ms = (rows["sent_ns"] - begun) / 1e6 + LEAD_IN_S * 1e3
    took = rows["done_ns"] - rows["sent_ns"]
    rest = took[age_ms >= 300].median()
    return {
        f"{low} to {high} ms": round(float(took[(age_ms >= low) & (age_ms < high)].median() / rest), 3)
        for low, high in itertools.pairwise(AGES_MS)
    }


def compared(window: Way, sliced: Way) -> dict[str, Any]:
    pairs = list(zip(figures(window), figures(sliced), strict=True))
    ratios = {name: sorted(other[name] / one[name] for one, other in pairs) for name in pairs[0][0]}
    return {
        "slices_over_windows": {
            name: {"median": round(median(each), 3), "range": [round(each[0], 3), round(each[-1], 3)]}
            for name, each in ratios.items()
        },
        "by_age": by_age(sliced),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=("kafka", "pulsar"))
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--warm-up-s", type=float, default=60.0)
    options = parser.parse_args()
    sandbox.enter()
    ((_, case), *_) = cases(options.system)
    with tempfile.TemporaryDirectory() as made:
        folder = run_folder.create(Path(made), "slice-length", "standard")
        where, logs = cluster_folder(folder, 0, case.cluster)
        logs.mkdir(parents=True)
        with LoadPlan().start_processes(logs, 1) as load, run_cluster(case.cluster, where, logs) as live:
            testbed = Testbed(live, load, folder, 1)
            alone = replace(case, load=replace(case.load, consumers=0))
            warm_up(testbed, [alone], options.warm_up_s, where / ".warm-up")
            found = ways(testbed, options.system, Path(made))
            for number in range(options.blocks):
                both = [
                    ([window for window, _ in found.values()], 1),
                    ([one for _, one in found.values()], SLICES),
                ]
                for chosen, slices in both if number % 2 == 0 else both[::-1]:
                    block(testbed, chosen, slices)
            for window, sliced in found.values():
                testbed.close(window.trial)
                testbed.close(sliced.trial)
        json.dump({name: compared(*both) for name, both in found.items()}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
