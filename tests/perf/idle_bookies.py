"""What do the bookies of another group cost, idle while a case is loaded? They are stopped in half the slices.

    python -m bench.backends.sandbox tests.perf.idle_bookies --cycles 40

Two cases of acks-sweep (2-2-2 with and without journalSyncData) on one cluster. In each cycle each is loaded twice, in
random order: with the other group's bookies as they are, and with their processes stopped (SIGSTOP). Prints, for each
case, throughput with idle neighbours over throughput without, its 95 % interval over cycles, and the CPU that idle
bookies take.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import psutil
from scipy import stats

from bench.backends import sandbox
from bench.model import Case, Topic, Trial
from bench.run import folder as run_folder
from bench.run import plan
from bench.run.cluster import cluster_folder, run_cluster
from bench.run.cluster_warm_up import warm_up
from bench.run.load_machines import LoadPlan
from bench.run.testbed import Testbed, ignore_progress
from bench.scenario import find
from bench.scenario import load as read_scenario

LEAD_IN_S, SLICE_S = 0.1, 0.5
SETTLING = 8


@dataclass
class Measured:
    """A case, and its acknowledgements a second by cycle, with neighbours that are idle and that are stopped."""

    trial: Trial
    idle: list[float] = field(default_factory=list)
    stopped: list[float] = field(default_factory=list)
    taken: int = 0


def cases() -> list[Case]:
    chosen = plan.plan(read_scenario(find("acks-sweep"), "standard"), 1)
    found = {
        trial.case.name: trial.case for trial in chosen.trials if trial.case.swept.get("quorums") == "2-2-2"
    }
    return list(found.values())


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def neighbours(testbed: Testbed, case: Case) -> list[int]:
    pids = testbed.cluster.backend.pids()
    return [pids[node.name] for node in testbed.cluster.nodes if node.group not in {"", case.group}]


def slice_of(testbed: Testbed, one: Measured, *, stop: bool, counts: bool) -> None:
    with stopped(neighbours(testbed, one.trial.case) if stop else []):
        done = testbed.run_slice(one.trial, one.taken, ignore_progress)
    one.taken += 1
    if counts:
        (one.stopped if stop else one.idle).append(done.acked / (LEAD_IN_S + SLICE_S))


def ratio(one: Measured) -> dict[str, object]:
    logarithms = np.log(one.idle) - np.log(one.stopped)
    reach = stats.t.isf(0.025, len(logarithms) - 1) * stats.sem(logarithms)
    middle = logarithms.mean()
    ends = [round(float(np.exp(middle + side * reach)), 3) for side in (-1, 1)]
    return {
        "messages_per_s": round(float(np.mean(one.stopped)), 1),
        "idle_over_stopped": round(float(np.exp(middle)), 3),
        "interval": ends,
    }


def idle_cpu(pids: list[int], seconds: float) -> float:
    """Return the share of a core that idle processes take together."""

    def taken() -> float:
        return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)

    before = taken()
    time.sleep(seconds)
    return round((taken() - before) / seconds, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=40)
    parser.add_argument("--warm-up-s", type=float, default=30.0)
    options = parser.parse_args()
    sandbox.enter()
    chosen = cases()
    with tempfile.TemporaryDirectory() as made:
        folder = run_folder.create(Path(made), "idle-bookies", "standard")
        where, logs = cluster_folder(folder, 0, chosen[0].cluster)
        logs.mkdir(parents=True)
        with LoadPlan().start_processes(logs, 1) as load, run_cluster(chosen[0].cluster, where, logs) as live:
            testbed = Testbed(live, load, folder, 1)
            alone = [replace(case, load=replace(case.load, consumers=0)) for case in chosen]
            warm_up(testbed, alone, options.warm_up_s, where / ".warm-up")
            measured = []
            for number, case in enumerate(alone):
                sliced = replace(case.load, warm_up_s=LEAD_IN_S, duration_s=SLICE_S)
                trial = Trial(number, 0, replace(case, load=sliced))
                topic = Topic(f"idle-{number}", case.partitions, case.topic, case.group)
                testbed.create_topics([topic])
                testbed.open(trial, topic, Path(made) / str(number))
                measured.append(Measured(trial))
            for cycle in range(SETTLING + options.cycles):
                turns = [(one, stop) for one in measured for stop in (False, True)]
                for one, stop in random.sample(turns, len(turns)):
                    slice_of(testbed, one, stop=stop, counts=cycle >= SETTLING)
            bookies = [pid for name, pid in live.backend.pids().items() if name.startswith("bookie")]
            cpu = idle_cpu(bookies, 20.0)
            for one in measured:
                testbed.close(one.trial)
        found = {one.trial.case.name: ratio(one) for one in measured}
        json.dump(found | {"cores_of_all_idle_bookies": cpu, "bookies": len(bookies)}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
