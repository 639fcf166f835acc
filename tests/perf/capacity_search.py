"""How often the capacity search is right, on simulated servers of known capacity. Prints JSON, a line a server.

    python -m tests.perf.capacity_search                          # 200 runs of 5 cluster starts for each server
    python -m tests.perf.capacity_search --server M/M/1 --runs 20
    python -m tests.perf.capacity_search --single                 # one rate at a time, around the capacity
    python -m tests.perf.capacity_search --standard               # with the short holds of a profile, on 3 starts
    python -m tests.perf.capacity_search --mlrsearch FOLDER       # beside the PyPI package MLRsearch, unpacked there

A simulated server answers messages one after the other, 500 a second. A message is late after 50 ms, with --standard
after 200 ms. `start_coverage` is the share of cluster starts whose interval holds the capacity, `coverage` that of
runs, whose interval is over all their starts. `accepts_above` and `rejects_below` are the shares of starts with a
passed rate above the capacity, or a failed one below it. `rates` counts an undecided hold and its repeats as one,
`holds` each of them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.capacity.capacity import Capacity, combine_starts
from bench.capacity.hold import Hold, backlog_slope
from bench.capacity.hold_log import SAMPLE_NS
from bench.capacity.judgement import HoldVerdict, judge
from bench.capacity.search import HoldRequest, Search, SearchPlan
from bench.capacity.service_level import LATE_SHARE, ServiceLevel
from bench.model import NANOS

Times = npt.NDArray[np.float64]

SPEED = 500.0
"""Messages a second that a server can answer when it never waits."""
STALL_SECONDS = 0.3
SWING_SECONDS = 1800.0
FACTORS = (0.8, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.2)
"""Rates that are held one at a time, over the capacity."""


@dataclass
class Conditions:
    """What every search is for and how long it looks; processes that search have what was set before they began."""

    level: ServiceLevel = field(default_factory=ServiceLevel)
    plan: SearchPlan = field(default_factory=SearchPlan)
    starts: int = 5
    sample_seconds: float = 1.0

    @property
    def late_seconds(self) -> float:
        return self.level.response_p99_ns / 1e9

    @property
    def late_end_to_end_seconds(self) -> float:
        return self.level.end_to_end_p99_ns / 1e9


CONDITIONS = Conditions()
STANDARD = Conditions(
    ServiceLevel(response_p99_ns=200_000_000, end_to_end_p99_ns=400_000_000),
    SearchPlan(search_seconds=2.0, confirm_seconds=6.0, settle_seconds=1.0),
    3,
    SAMPLE_NS / NANOS,
)
"""Those of the scenario `capacity` in its profile `standard`."""


@dataclass(frozen=True)
class Server:
    """What a simulated server does besides answering. Noise is a standard deviation, as a share of its speed.

    `swing` is how far its speed goes up and down within half an hour. It stalls for 0.3 s once in `stall_every` seconds
    on average, at intervals of half to one and a half times as long.
    """

    name: str
    random: bool = False
    swing: float = 0.0
    noise_of_seconds: float = 0.0
    noise_of_holds: float = 0.0
    noise_of_starts: float = 0.0
    stall_every: float = 0.0

    def capacity(self) -> float:
        """Return the true capacity: the highest rate whose p99 meets the level on a typical start; 0 for none."""
        if self.random:  # M/M/1: P(response > t) = exp(-(speed - rate) t)
            return SPEED - math.log(1 / LATE_SHARE) / CONDITIONS.late_seconds
        if self.stall_every:  # a stall makes all late that is due in (stall - limit) / (1 - rate / speed)
            longest = LATE_SHARE * self.stall_every
            return max(0.0, SPEED * (1 - (STALL_SECONDS - CONDITIONS.late_seconds) / longest))
        return self._simulated_capacity() if self.noise_of_seconds else SPEED

    def _simulated_capacity(self) -> float:
        """Bisect with holds of an hour."""
        low, high = SPEED / 4, SPEED
        while high / low > 1.002:
            rate = math.sqrt(low * high)
            holds = [Start(self, seed).hold(HoldRequest(rate, 3600, 10)) for seed in range(4)]
            late = sum(sum(hold.late) for hold in holds) / sum(sum(hold.due) for hold in holds)
            low, high = (rate, high) if late <= LATE_SHARE else (low, rate)
        return math.sqrt(low * high)


SERVERS = (
    Server("M/M/1", random=True),
    Server("hard limit"),
    Server("speed swings by 5 % in half an hour", swing=0.05),
    Server("speed varies by 10 % from second to second", noise_of_seconds=0.1),
    Server("speed varies by 10 % from hold to hold", noise_of_holds=0.1),
    Server("speed varies by 5 % from start to start", noise_of_starts=0.05),
    Server("stalls of 0.3 s once in 20 s", stall_every=20),
    Server("stalls of 0.3 s once in 40 s", stall_every=40),
)


class Start:
    """A server on one cluster start: it has a clock, and a random sequence of its own."""

    def __init__(self, server: Server, *seed: int) -> None:
        self._server = server
        self._random = np.random.default_rng(seed)
        self._speed = SPEED * self._factor(server.noise_of_starts)
        self._phase = self._random.uniform(0, SWING_SECONDS)
        self.seconds = 0.0
        self.holds = 0

    @property
    def closed_loop_rate(self) -> float:
        """A closed loop that has fewer sends open than the server could take carries less than an open one."""
        return SPEED * float(self._random.uniform(0.6, 1.0))

    def hold(self, request: HoldRequest) -> Hold:
        """Load the server, whose queue is empty, and count what is due once it has settled."""
        settle, length = request.settle_seconds, request.settle_seconds + request.seconds
        due = self._due(request.rate, length)
        done = self._done(due, length)
        self.seconds += length
        self.holds += 1
        counted = due >= settle
        response, second = (done - due)[counted], (due[counted] - settle).astype(int)
        seconds = math.ceil(request.seconds)

        def by_second(which: npt.NDArray[np.bool_]) -> list[int]:
            return [int(number) for number in np.bincount(second[which], minlength=seconds)]

        samples = np.arange(settle, length, CONDITIONS.sample_seconds)
        backlog = np.searchsorted(due, samples) - np.searchsorted(done, samples)
        return Hold(
            rate=request.rate,
            seconds=request.seconds,
            due=by_second(response >= 0),
            sent=len(response),
            late=by_second(response > CONDITIONS.late_seconds),
            late_end_to_end=by_second(response > CONDITIONS.late_end_to_end_seconds),
            backlogs={"producers": backlog_slope(list(samples), list(backlog))},
        )

    def _factor(self, noise: float) -> float:
        return float(np.exp(self._random.normal(0, noise)))

    def _due(self, rate: float, length: float) -> Times:
        if self._server.random:
            count = self._random.poisson(rate * length)
            return np.asarray(np.sort(self._random.uniform(0, length, count)))
        return np.asarray((np.arange(int(rate * length)) + self._random.random()) / rate, dtype=float)

    def _done(self, due: Times, length: float) -> Times:
        """Return when each message is answered, one after the other (D. V. Lindley, 1952), stalls left out of time."""
        work = self._work(due, length)
        stalls = self._stalls(length)
        before = np.searchsorted(stalls, due, side="right")
        working = stalls - STALL_SECONDS * np.arange(len(stalls))  # when stalls begin, in time without stalls
        came = due - STALL_SECONDS * before
        if len(stalls):
            came = np.where(before > 0, np.maximum(came, working[before - 1]), came)
        total = np.cumsum(work)
        done = total + np.maximum.accumulate(came - (total - work))
        return np.asarray(done + STALL_SECONDS * np.searchsorted(working, done))

    def _work(self, due: Times, length: float) -> Times:
        server, random = self._server, self._random
        speed = np.full(len(due), self._speed * self._factor(server.noise_of_holds))
        if server.swing:
            turns = (self.seconds + due + self._phase) / SWING_SECONDS
            speed *= 1 + server.swing * np.sin(2 * np.pi * turns)
        if server.noise_of_seconds:
            speed *= np.exp(random.normal(0, server.noise_of_seconds, math.ceil(length)))[due.astype(int)]
        return (random.exponential(size=len(due)) if server.random else 1.0) / speed

    def _stalls(self, length: float) -> Times:
        every = self._server.stall_every
        if not every:
            return np.array([])
        gaps = self._random.uniform(0.5 * every, 1.5 * every, math.ceil(2 * length / every) + 2)
        starts = np.cumsum(gaps) - self._random.uniform(0, 1.5 * every)
        return np.asarray(starts[(starts >= 0) & (starts < length)])


@dataclass(frozen=True)
class Found:
    """The interval of one cluster start, and what it took. `seconds` count settling."""

    low: float
    high: float
    holds: int
    seconds: float
    capacity: Capacity | None = None


def searched(server: Server, run: int, start: int) -> Found:
    """Search on one cluster start."""
    cluster = Start(server, run, start)
    search = Search(cluster.closed_loop_rate, CONDITIONS.level, CONDITIONS.plan)
    while search.request:
        search.add(cluster.hold(search.request))
    result = search.result()
    low, high = result.passed_rate or 0.0, result.failed_rate or math.inf
    return Found(low, high, cluster.holds, cluster.seconds, result)


def mlrsearched(folder: str, server: Server, run: int, start: int) -> Found:
    """Search on the same cluster start with MLRsearch: a late message is a lost one."""
    sys.path.insert(0, folder)
    mlr = importlib.import_module("MLRsearch")
    cluster = Start(server, run, start)

    class Measurer(mlr.AbstractMeasurer):  # type: ignore[misc,name-defined]
        def measure(self, intended_duration: float, intended_load: float) -> Any:
            hold = cluster.hold(HoldRequest(intended_load, intended_duration, CONDITIONS.plan.settle_seconds))
            return mlr.MeasurementResult(
                intended_duration, intended_load, offered_count=sum(hold.due), loss_count=sum(hold.late)
            )

    goal = mlr.SearchGoal(
        loss_ratio=LATE_SHARE,
        exceed_ratio=0.5,
        relative_width=1 - 1 / CONDITIONS.plan.confirm_width,
        initial_trial_duration=CONDITIONS.plan.search_seconds,
        final_trial_duration=CONDITIONS.plan.confirm_seconds,
        duration_sum=CONDITIONS.plan.confirm_seconds,
        preceding_targets=1,
        fail_fast=False,
    )
    closed = cluster.closed_loop_rate
    config = mlr.Config()
    config.goals, config.warmup_duration = [goal], None
    config.min_load, config.max_load = CONDITIONS.plan.lowest_share * closed, 2 * closed
    (bounds,) = mlr.MultipleLossRatioSearch(config=config).search(Measurer(), debug=lambda _: None).values()
    lower, upper = bounds.relevant_lower_bound, bounds.relevant_upper_bound
    return Found(
        float(lower) if lower else 0.0, float(upper) if upper else math.inf, cluster.holds, cluster.seconds
    )


StartSearch = Callable[[Server, int, int], Found]


def on_all_starts(search: StartSearch, server: Server, run: int) -> list[Found]:
    """Search on as many cluster starts as a run has."""
    return [search(server, run, start) for start in range(CONDITIONS.starts)]


def summary(server: Server, runs: list[list[Found]]) -> dict[str, Any]:
    """Hold what was found against the capacity."""
    truth = server.capacity()
    starts = [found for run in runs for found in run]
    figures: dict[str, Any] = {
        "server": server.name,
        "capacity": round(truth, 1),
        "runs": len(runs),
        "start_coverage": _share(found.low <= truth <= found.high for found in starts),
        "accepts_above": _share(found.low > truth for found in starts),
        "rejects_below": _share(found.high < truth for found in starts),
        "without_passed": _share(found.low == 0 for found in starts),
        "without_failed": _share(math.isinf(found.high) for found in starts),
        "holds": round(statistics.fmean(found.holds for found in starts), 1),
        "minutes": round(statistics.fmean(found.seconds for found in starts) / 60, 1),
        "width": _median_width([(found.low, found.high) for found in starts]),
    }
    results = [[found.capacity for found in run if found.capacity] for run in runs]
    if all(results):
        intervals = [interval for run in results if (interval := combine_starts(run).interval)]
        figures |= {
            "coverage": _share(interval.low <= truth <= interval.high for interval in intervals),
            "combined_width": _median_width([(interval.low, interval.high) for interval in intervals]),
            "rates": round(statistics.fmean(len(result.steps) for run in results for result in run), 1),
            "within_14_rates": _share(len(result.steps) <= 14 for run in results for result in run),
            "non_monotone": _share(result.non_monotone for run in results for result in run),
        }
    return figures


def single(server: Server, holds: int) -> dict[str, Any]:
    """Hold one rate as long as a search would to confirm it: the share of each verdict by rate over capacity."""
    truth = server.capacity()
    shares = {}
    for factor in FACTORS if truth else ():
        verdicts = Counter(decided(Start(server, 1, number), factor * truth) for number in range(holds))
        shares[str(factor)] = {verdict.value: count / holds for verdict, count in verdicts.items()}
    return {"server": server.name, "capacity": round(truth, 1), "single": shares}


def decided(cluster: Start, rate: float) -> HoldVerdict:
    """Hold a rate for as long as its verdict takes."""
    request = HoldRequest(rate, CONDITIONS.plan.confirm_seconds, CONDITIONS.plan.settle_seconds)
    hold = cluster.hold(request)
    while (verdict := judge(hold, CONDITIONS.level).verdict) is HoldVerdict.UNDECIDED:
        if hold.seconds >= CONDITIONS.plan.most_lengths * CONDITIONS.plan.confirm_seconds:
            break
        hold = hold.merge(cluster.hold(request))
    return verdict


def _share(which: Iterator[bool]) -> float:
    values = list(which)
    return round(sum(values) / len(values), 3)


def _median_width(bounds: list[tuple[float, float]]) -> float:
    """How many times the low the high is in the middle, infinite where either is missing."""
    return round(statistics.median(high / low if low else math.inf for low, high in bounds), 3)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", choices=[server.name for server in SERVERS])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--mlrsearch", metavar="FOLDER")
    parser.add_argument(
        "--standard", action="store_true", help="holds and level of capacity's profile standard"
    )
    options = parser.parse_args()
    if options.standard:
        vars(CONDITIONS).update(vars(STANDARD))
    search = partial(mlrsearched, options.mlrsearch) if options.mlrsearch else searched
    with ProcessPoolExecutor() as pool:
        servers = [server for server in SERVERS if options.server in {None, server.name}]
        if options.single:
            for figures in pool.map(single, servers, [options.runs] * len(servers)):
                print(json.dumps(figures), flush=True)  # noqa: T201
            return
        for server in servers:
            runs = list(pool.map(partial(on_all_starts, search, server), range(options.runs), chunksize=5))
            print(json.dumps(summary(server, runs)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
