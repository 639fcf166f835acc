"""Both systems at equal guarantees: who is ahead, at one point of the sweep, at several, and on slower disks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench import numbers
from bench.columns import CAPACITY
from bench.model import EMULATED_FSYNC
from bench.report.answer.configurations import Configurations, Measure, ValueText, figure, words
from bench.report.answer.effect import CONFIDENT, Effect, EffectOutcome
from bench.report.answer.model import Finding
from bench.report.answer.sentences import sentence
from bench.report.crossing import crossing
from bench.report.figures import price
from bench.report.presentation import DeclaredComparison
from bench.report.results import Json
from bench.scenario.values import AS_IS
from bench.systems.registry import system_title

_COMPARISON, _PRICE = "system-comparison", "price"


class Point(NamedTuple):
    """Both systems at one guarantee and one point of settings, as results/summary.json has it (`sides`)."""

    systems: tuple[str, str]
    cases: tuple[str, str]
    values: Mapping[str, str]
    survives: tuple[str, ...]
    entry: Json

    @property
    def disk(self) -> str:
        """What an fsync was made to take; `as is` where none was emulated."""
        return str(self.values.get(EMULATED_FSYNC, AS_IS))

    @property
    def apart_from_disk(self) -> dict[str, str]:
        """The values of the other settings."""
        return {name: str(value) for name, value in self.values.items() if name != EMULATED_FSYNC}

    def title(self, side: int) -> str:
        """Return the name of the first system (0) or the second (1)."""
        return system_title(self.systems[side])


class Standing(NamedTuple):
    """Which of two systems is ahead, 0 or 1, None for neither; `effect` is the first one's value over the second's."""

    ahead: int | None
    effect: Effect
    outcome: EffectOutcome


def points(cases: Configurations) -> list[Point]:
    """Return the points at which both systems promise the same of an acknowledged message."""
    sides: Mapping[str, Any] = cases.results.summary.get("sides") or {}
    first, second = sides.get("systems") or ("", "")
    return [
        Point(
            (first, second),
            (entry["cases"][0], entry["cases"][1]),
            entry["values"],
            tuple(entry["survives"]),
            entry,
        )
        for entry in sides.get("points") or ()
        if entry["same"]
    ]


def short(guarantee: str) -> str:
    """Return a guarantee without the words that a table can do without: a power cut is one of all nodes."""
    return guarantee.removesuffix(" of all nodes")


def shortest(guarantee: str) -> str:
    """Return what a guarantee covers, without what it does not cover."""
    return short(guarantee).removesuffix(", not a power cut")


def own_disk_points(guarantee_points: Sequence[Point]) -> list[Point]:
    """Return the points on the machine's own disk; all where there is none."""
    return [point for point in guarantee_points if point.disk == AS_IS] or list(guarantee_points)


def standing(cases: Configurations, point: Point, metric: str) -> Standing:
    """Return which system is ahead at a point: by more throughput, or by less time."""
    effect = side_effect(cases, point, metric)
    outcome = effect.outcome(cases.smallest)
    if not outcome.differs:
        return Standing(None, effect, outcome)
    more_is_better = cases.measure(point.cases[0], metric) is not Measure.TIME
    return Standing(0 if (outcome is EffectOutcome.MORE) == more_is_better else 1, effect, outcome)


def side_effect(cases: Configurations, point: Point, metric: str) -> Effect:
    """Return the first system's value over the second's; from the rounds of both where `sides` lacks the metric."""
    entry = point.entry.get(metric)
    if entry is None:
        return cases.effect(*point.cases, metric)
    name = CONFIDENT if cases.results.over_rounds else "interval"
    return Effect(entry["ratio"], entry["low"], entry["high"], int(entry["rounds"]), name)


def side_figures(cases: Configurations, point: Point, metric: str) -> tuple[ValueText, ValueText]:
    """Return both systems' medians as sentences have them; of a capacity from the rate that passed to what failed."""
    entry = point.entry.get(metric)
    if metric == CAPACITY and all(map(cases.capacity_range, point.cases)):
        first, second = (ValueText(rate=cases.capacity_range(case)) for case in point.cases)
    elif entry is None:
        first, second = (cases.figure(case, metric) for case in point.cases)
    else:
        first, second = (figure(entry[side], metric) for side in ("first", "second"))
    return first, second


def declared_findings(
    cases: Configurations, comparison: DeclaredComparison, *, repeats_guarantee: bool = False
) -> Iterator[Finding]:
    """State who is ahead at a declared guarantee; nothing where the run has no such point.

    `repeats_guarantee`: the sentence before names the same guarantee.
    """
    yield from at_guarantee(
        cases, declared_points(cases, comparison), comparison, repeats_guarantee=repeats_guarantee
    )


def declared_points(cases: Configurations, comparison: DeclaredComparison) -> list[Point]:
    """Return the points of a comparison's guarantee and settings."""
    return [
        point
        for point in points(cases)
        if comparison.is_promised(point.survives)
        and all(str(point.values.get(name)) == value for name, value in comparison.at.items())
    ]


def at_guarantee(
    cases: Configurations,
    guarantee_points: Sequence[Point],
    comparison: DeclaredComparison,
    *,
    repeats_guarantee: bool = False,
) -> Iterator[Finding]:
    """State who is ahead at these points of one guarantee, and on slower disks."""
    own_disk = own_disk_points(guarantee_points)
    if not own_disk or cases.measure(own_disk[0].cases[0], comparison.metric) is None:
        return
    if len(own_disk) > 1:
        yield _at_several(cases, own_disk, comparison)
        return
    yield _at_one(cases, own_disk[0], comparison, repeats_guarantee=repeats_guarantee)
    slower = [
        point
        for point in guarantee_points
        if point.disk != AS_IS
        and point.apart_from_disk == own_disk[0].apart_from_disk
        and point != own_disk[0]
    ]
    if slower and own_disk[0].entry.get("power"):
        yield _on_slower_disks(cases, own_disk[0], slower, comparison)


def both_halves(cases: Configurations, declared: Sequence[DeclaredComparison]) -> str:
    """Say who is ahead at the first two declared guarantees where these are two systems; else empty."""
    if len(declared) < 2 or declared[0].guarantee == declared[1].guarantee:
        return ""
    if declared[0].metric != declared[1].metric:
        return ""
    ahead = [_ahead(cases, comparison) for comparison in declared[:2]]
    if None in ahead or ahead[0] == ahead[1]:
        return ""
    first, second = (shortest(comparison.guarantee) for comparison in declared[:2])
    beyond_first = second.removeprefix(f"{first}, and ")
    slots = {"ahead": ahead, "guarantees": (first, beyond_first), "too": beyond_first != second}
    return sentence("both-halves", slots)


def _ahead(cases: Configurations, comparison: DeclaredComparison) -> str | None:
    """Name the system that is ahead at the only point of a guarantee; None for neither, and where there are several."""
    own_disk = own_disk_points(declared_points(cases, comparison)) if comparison.guarantee else []
    if len(own_disk) != 1 or cases.measure(own_disk[0].cases[0], comparison.metric) is None:
        return None
    ahead = standing(cases, own_disk[0], comparison.metric).ahead
    return None if ahead is None else own_disk[0].title(ahead)


def _at_one(
    cases: Configurations, point: Point, comparison: DeclaredComparison, *, repeats_guarantee: bool
) -> Finding:
    metric = comparison.metric
    measure, figures = cases.measure(point.cases[0], metric), side_figures(cases, point, metric)
    ahead, effect, outcome = standing(cases, point, metric)
    larger = 1 if effect.ratio is not None and effect.ratio < 1 else 0
    first = larger if ahead is None else ahead
    at = _at(cases, point, comparison)
    slots = {
        "guarantee": shortest(comparison.guarantee),
        "at": at,
        "again": repeats_guarantee and bool(at),
        "measure": measure,
        "metric": words(metric),
        "outcome": outcome if ahead is None else "decided",
        "effect": effect.upward.slots,
        "smallest": cases.smallest_words,
        "first": point.title(first),
        "second": point.title(1 - first),
        "of": figures[larger],
        "to": figures[1 - larger],
    }
    advice = comparison.advice_for(outcome.value if ahead is None else point.systems[ahead])
    return Finding(sentence("guarantee", slots), outcome.is_decided, _COMPARISON, advice)


def _at(cases: Configurations, point: Point, comparison: DeclaredComparison) -> str:
    """Name the declared point of settings: those that tell it from other points with that guarantee.

    The machine's own disk needs no words. Of configurations that were chosen for their guarantee it names the copies.
    """
    made = {cases.copies(case) for case in point.cases} if point.entry.get("chosen") else {1}
    copies = f"{made.pop()} copies" if len(made) == 1 and made != {1} else ""
    guarantee_points = [
        candidate for candidate in points(cases) if comparison.is_promised(candidate.survives)
    ]
    named = {
        name: value
        for name, value in comparison.at.items()
        if (name, value) != (EMULATED_FSYNC, AS_IS)
        and any(str(candidate.values.get(name)) != value for candidate in guarantee_points)
    }
    at = (cases.value(point.systems[0], *setting) for setting in named.items())
    return ", ".join(filter(None, (*at, copies)))


def _on_slower_disks(
    cases: Configurations, point: Point, slower: Sequence[Point], comparison: DeclaredComparison
) -> Finding:
    """State who is ahead where each fsync takes longer; of many disks where one leads, the least and the most."""
    metric = comparison.metric
    standings = [standing(cases, slower_point, metric) for slower_point in slower]
    leaders = {point_standing.ahead for point_standing in standings}
    leader = leaders.pop() if len(leaders) == 1 else None
    disks = list(zip(slower, standings, strict=True))
    shown = [disks[0], disks[-1]] if leader is not None and len(disks) > 2 else disks
    slots = {
        "ahead": "" if leader is None else point.title(leader),
        "stays": leader == standing(cases, point, metric).ahead,
        "cross": _crossing(cases, [point, *slower]),
        "disks": [
            {
                "added": _spaced_length(slower_point.disk),
                "first": "" if point_standing.ahead is None else point.title(point_standing.ahead),
                "effect": point_standing.effect.upward.slots,
            }
            for slower_point, point_standing in shown
        ],
    }
    decided = all(point_standing.outcome.is_decided for point_standing in standings)
    advice = comparison.advice_for(point.systems[leader]) if leader is not None and slots["stays"] else ()
    return Finding(sentence("slower-disks", slots), decided, _PRICE, advice)


def _crossing(cases: Configurations, guarantee_points: Sequence[Point]) -> str:
    """Say from which fsync latency on the other system is ahead: where the lines cross; empty where they do not."""
    trials = price.points(cases.results, price.metric(cases.results))
    sides = [
        trials[trials["point"].isin([point.cases[side] for point in guarantee_points])] for side in (0, 1)
    ]
    place = crossing(*sides) if all(map(len, sides)) else None
    if place is None:
        return ""
    interval = f" ({place.low:.2g} to {place.high:.2g})" if place.low is not None else ""
    return f"{place.at:.2g} ms{interval}"


def _spaced_length(length: str) -> str:
    """Write 1ms as 1 ms."""
    number = length.rstrip("abcdefghijklmnopqrstuvwxyzµ")
    return f"{number} {length.removeprefix(number)}"


def _at_several(
    cases: Configurations, guarantee_points: Sequence[Point], comparison: DeclaredComparison
) -> Finding:
    """State at how many points who is ahead, by how much at the least and at the most."""
    standings = [standing(cases, point, comparison.metric) for point in guarantee_points]
    by_side = [
        [point_standing.effect.upward for point_standing in standings if point_standing.ahead == side]
        for side in (0, 1)
    ]
    first = 0 if len(by_side[0]) >= len(by_side[1]) else 1
    open_points = len(guarantee_points) - len(by_side[0]) - len(by_side[1])
    low, high = _ends(by_side[first])
    behind_low, behind_high = _ends(by_side[1 - first])
    slots = {
        "guarantee": shortest(comparison.guarantee),
        "outcome": "decided" if len(by_side[first]) == len(guarantee_points) else "mixed",
        "measure": cases.measure(guarantee_points[0].cases[0], comparison.metric),
        "metric": words(comparison.metric),
        "first": guarantee_points[0].title(first),
        "second": guarantee_points[0].title(1 - first),
        "low": low,
        "high": high,
        "behind_low": behind_low,
        "behind_high": behind_high,
        "ahead": len(by_side[first]),
        "behind": len(by_side[1 - first]),
        "open_points": open_points,
        "points": len(guarantee_points),
        "along": _along(guarantee_points),
    }
    faster = "same" if open_points == len(guarantee_points) else guarantee_points[0].systems[first]
    advice = comparison.advice_for(faster) if len(by_side[first]) == len(guarantee_points) else ()
    return Finding(sentence("guarantee-range", slots), not open_points, _COMPARISON, advice)


def _ends(factors: Sequence[Effect]) -> tuple[str, str]:
    """Return the least and the most of some factors as text; empty without any."""
    ratios = [effect.ratio for effect in factors if effect.ratio is not None]
    return (numbers.factor(min(ratios)), numbers.factor(max(ratios))) if ratios else ("", "")


def _along(guarantee_points: Sequence[Point]) -> str:
    """Name the settings by which points differ; not which configuration stands for each there."""
    chosen_settings = {name for point in guarantee_points for name in point.entry.get("chosen") or ()}
    names = [
        name.replace("_", " ")
        for name in guarantee_points[0].values
        if name not in {EMULATED_FSYNC, *chosen_settings}
        and len({point.values[name] for point in guarantee_points}) > 1
    ]
    return " and ".join(names) or "the sweep"
