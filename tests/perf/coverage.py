"""Simulated runs: how often intervals of ratios hold the true one, and how often repeated looks decide falsely.

There are slices within trials, trials within cluster starts, and cluster starts within a run, as seen on real
clusters. A slice's throughput varies log-normally and follows the slice before it. Each cluster start suits each
case a little better or worse. A whole cluster start is faster or slower.

    python -m tests.perf.coverage [RUNS]

prints the tables of docs/method/statistics.md; with 400 runs it takes about two minutes on an idle core.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from bench.analysis.statistics.look_levels import FIRST_LOOK, level
from bench.analysis.verdicts.claim_forms import HELD, NO_DIFFERENCE, NOT, Order
from bench.statistics.round_ratios import Group, RoundRatios

RUNS = 400
SEED = 5
LOOKS = 12
ROUNDS = (2, 3, 4, 6)
EFFECTS = (0.0, 0.05, 0.1, 0.2)
"""How much slower the second, third, fourth and fifth case are than the first; the others are equal to it."""
SMALLEST_EFFECT = 0.05
START_DEVIATION = 0.1
"""The standard deviation of a whole cluster start's speed, as a logarithm."""

_Table = npt.NDArray[np.float64]
Values = dict[str, dict[int, float]]
Slices = dict[str, dict[int, dict[int, float]]]


@dataclass(frozen=True, slots=True)
class Machine:
    """How figures vary: standard deviations are of logarithms.

    `slices` are those of a trial, and `slice_deviation` and `correlation` are how they vary and follow one another.
    `suiting` is how much each cluster start suits each case. With `noisy` the last case varies three times as much.
    The cases are dealt to `clusters`.
    """

    name: str
    cases: int
    slices: int
    slice_deviation: float
    correlation: float
    suiting: float
    noisy: bool = False
    clusters: int = 1

    def groups(self) -> dict[str, Group]:
        """Return the cluster of each case."""
        return {
            f"case {place}": Group(f"cluster {place * self.clusters // self.cases}")
            for place in range(self.cases)
        }


MACHINES = (
    Machine("as seen on Kafka: 9 cases, 32 slices", 9, 32, 0.10, 0.0, 0.02),
    Machine("as seen on Pulsar: 9 cases, 32 slices", 9, 32, 0.05, 0.0, 0.01),
    Machine("6 cases, 24 slices", 6, 24, 0.15, 0.4, 0.03),
    Machine("6 cases, 60 even slices", 6, 60, 0.10, 0.3, 0.02),
    Machine("9 cases, 60 restless slices", 9, 60, 0.25, 0.6, 0.05),
    Machine("15 cases, 12 slices, starts that suit unevenly", 15, 12, 0.10, 0.3, 0.08),
    Machine("9 cases, one three times as noisy", 9, 24, 0.15, 0.5, 0.04, noisy=True),
)
APART = (
    Machine("2 clusters of 6 cases", 12, 24, 0.15, 0.4, 0.04, clusters=2),
    Machine("3 clusters of 6 cases", 18, 24, 0.15, 0.4, 0.04, clusters=3),
)


def effect(place: int) -> float:
    """Return how much slower a case is than the first, as a share of its own throughput."""
    return EFFECTS[place - 1] if 0 < place <= len(EFFECTS) else 0.0


def run(machine: Machine, rounds: int, draw: np.random.Generator) -> tuple[Values, Slices]:
    """Simulate a run's throughputs by case and round, and those of their slices by cycle."""
    shape = (machine.cases, rounds)
    times = np.ones((machine.cases, 1))
    times[-1] = 3 if machine.noisy else 1
    starts = START_DEVIATION * draw.normal(size=(machine.clusters, rounds))
    cluster = np.arange(machine.cases) * machine.clusters // machine.cases
    suiting = machine.suiting * times * draw.normal(size=shape)
    levels = -np.log1p([[effect(place)] for place in range(machine.cases)]) + starts[cluster] + suiting
    deviation = machine.slice_deviation * times[:, :, None]
    noise = np.exp(deviation * _series(machine, rounds, draw) - deviation**2 / 2)
    slices = 1_000 * np.exp(levels)[:, :, None] * noise
    names = [f"case {place}" for place in range(machine.cases)]
    rates = {
        name: dict(enumerate(map(float, row))) for name, row in zip(names, slices.mean(axis=2), strict=True)
    }
    by_cycle = {
        name: {number: dict(enumerate(map(float, cycles))) for number, cycles in enumerate(row)}
        for name, row in zip(names, slices, strict=True)
    }
    return rates, by_cycle


def _series(machine: Machine, rounds: int, draw: np.random.Generator) -> _Table:
    """Give slices by case, round and slice, of deviation 1, each following the one before it."""
    noise = draw.normal(size=(machine.cases, rounds, machine.slices))
    noise[:, :, 1:] *= np.sqrt(1 - machine.correlation**2)
    return np.asarray(lfilter([1], [1, -machine.correlation], noise, axis=2))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which share of 95 % intervals held the true ratio, their median half-width, and the share among noisy pairs."""

    held: float
    half_width: float
    held_if_noisy: float | None


def coverage(machine: Machine, rounds: int, runs: int, seed: int = SEED) -> Coverage:
    """Simulate runs; count the intervals of each case over the first, with several clusters only those across."""
    draw = np.random.default_rng(seed)
    groups = machine.groups()
    others = [
        place
        for place in range(1, machine.cases)
        if machine.clusters == 1 or groups[f"case {place}"] != groups["case 0"]
    ]
    hits, widths = np.zeros((runs, len(others)), dtype=bool), np.zeros((runs, len(others)))
    for number in range(runs):
        values, slices = run(machine, rounds, draw)
        ratios = RoundRatios(values, groups, slices)
        for column, place in enumerate(others):
            ratio = ratios.ratio("case 0", f"case {place}")
            assert ratio is not None
            interval, width = ratio.interval(), ratio.half_width()
            assert interval is not None
            assert width is not None
            hits[number, column] = interval.low <= 1 + effect(place) <= interval.high
            widths[number, column] = np.expm1(width)
    quiet = hits[:, :-1] if machine.noisy else hits
    noisy = float(hits[:, -1].mean()) if machine.noisy else None
    return Coverage(float(quiet.mean()), float(np.median(widths)), noisy)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Shares of runs by effect: the order held, or did not hold, at any look so far; and no difference at the last."""

    held: Mapping[float, Sequence[float]]
    denied: Mapping[float, Sequence[float]]
    no_difference: Mapping[float, Sequence[float]]


def decisions(machine: Machine, runs: int, looks: int = LOOKS, seed: int = SEED) -> Decisions:
    """Simulate runs that are looked at after each round, and claim of each that the first case is the fastest."""
    draw = np.random.default_rng(seed)
    verdicts = np.empty((runs, looks, len(EFFECTS)), dtype=object)
    for number in range(runs):
        values, slices = run(machine, FIRST_LOOK + looks - 1, draw)
        for look in range(looks):
            verdicts[number, look] = list(_verdicts(values, slices, look, machine))
    ever = {word: np.logical_or.accumulate(verdicts == word, axis=1).mean(axis=0) for word in (HELD, NOT)}
    same = (verdicts == NO_DIFFERENCE).mean(axis=0)
    held, denied, no_difference = (
        {size: [float(share) for share in shares[:, place]] for place, size in enumerate(EFFECTS)}
        for shares in (ever[HELD], ever[NOT], same)
    )
    return Decisions(held, denied, no_difference)


def _verdicts(values: Values, slices: Slices, look: int, machine: Machine) -> Iterator[str]:
    """Give the verdict at a look on each effect's case."""
    known = {
        case: {number: value for number, value in rounds.items() if number < FIRST_LOOK + look}
        for case, rounds in values.items()
    }
    ratios = RoundRatios(known, machine.groups(), slices)
    form = Order(SMALLEST_EFFECT, falls=True)
    for place in range(1, len(EFFECTS) + 1):
        ratio = ratios.ratio("case 0", f"case {place}")
        assert ratio is not None
        interval = ratio.interval(level(look + 1))
        assert interval is not None
        yield form.verdict(ratio.ratio, interval)


def report(runs: int) -> Iterator[str]:
    """Give the lines of both tables, as Markdown."""
    yield f"| {runs} runs | " + " | ".join(f"{rounds} rounds" for rounds in ROUNDS) + " |"
    yield "|---|" + "---|" * len(ROUNDS)
    for machine in (*MACHINES, *APART):
        found = [coverage(machine, rounds, runs) for rounds in ROUNDS]
        where = " (ratios between clusters)" if machine.clusters > 1 else ""
        yield f"| {machine.name}{where} | " + " | ".join(map(_cell, found)) + " |"
    yield ""
    yield "| looked at after each round | " + " | ".join(_HEADS) + " |"
    yield "|---|" + "---|" * len(_HEADS)
    for machine in MACHINES:
        yield f"| {machine.name} | " + " | ".join(_decided(decisions(machine, runs))) + " |"


_HEADS = (
    "equal: an order claimed, 12 looks",
    "5 %, 10 %, 20 % slower: the reverse claimed, 12 looks",
    "equal: no difference after 3, 6, 13 rounds",
    *(f"{100 * size:g} % slower: held after 3, 6, 13 rounds" for size in EFFECTS[1:]),
)
_AFTER = (1, 4, 11)
"""Looks after 3, 6 and 13 rounds."""


def _cell(found: Coverage) -> str:
    noisy = "" if found.held_if_noisy is None else f"; noisy {found.held_if_noisy:.1%}"
    return f"{found.held:.1%}{noisy} (±{found.half_width:.1%})"


def _decided(found: Decisions) -> Iterator[str]:
    yield f"{found.held[0.0][-1] + found.denied[0.0][-1]:.1%}"
    yield ", ".join(f"{found.denied[size][-1]:.1%}" for size in EFFECTS[1:])
    yield ", ".join(f"{found.no_difference[0.0][look]:.0%}" for look in _AFTER)
    for size in EFFECTS[1:]:
        yield ", ".join(f"{found.held[size][look]:.0%}" for look in _AFTER)


if __name__ == "__main__":
    for line in report(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
