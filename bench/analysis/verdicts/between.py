"""Which system has more throughput, and how many times as much, where both promise the same: a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench import numbers
from bench.model import EMULATED_FSYNC
from bench.scenario.values import AS_IS

Sides = Mapping[str, Any]
Point = Mapping[str, Any]

_METRIC = "throughput_msgs_per_s"
_MOST = 5
"""Of more points than this only the span is told."""


def between(sides: Sides, limits: Mapping[str, str | None]) -> list[str]:
    """Tell the ratio at each point of `sides` (results/summary.json) where both promise the same; empty where nowhere.

    `limits` has what limited each case.

    Where disks were emulated, on the disk as it is. Of many points only the lowest and the highest ratio are told:
    those were picked for being so, and have no interval.
    """
    alike = [point for point in _shown(sides) if point["same"]]
    known = [point for point in alike if point[_METRIC]["ratio"] is not None]
    if sides["matched"]:
        return [_matched(sides, known)] if known else []
    if len(alike) <= _MOST:
        return [f"{_point(sides, point, limits)}{_dearer(sides, point)}" for point in alike]
    return [_span(sides, sorted(known, key=lambda point: float(point[_METRIC]["ratio"])))] if known else []


def _matched(sides: Sides, known: Sequence[Point]) -> str:
    """Tell the ratios of configurations that were matched by their promise, promise by promise, in one sentence."""
    promises: dict[str, list[Point]] = {}
    for point in known:
        promises.setdefault(point["survives"][0], []).append(point)
    said = "; ".join(
        f"{_ratios(those)} where that is {survives}{_but(_goes_on(sides, those[0]))}"
        for survives, those in promises.items()
    )
    return (
        f"Throughput of {' over '.join(_names(sides))}, of each the fastest configuration that survives the same: "
        f"{said}. See Side by side."
    )


def _ratios(points: Sequence[Point]) -> str:
    """Tell the ratio of one point with its interval; of several the least and the most, picked for being so."""
    told = sorted(float(point[_METRIC]["ratio"]) for point in points)
    if len(told) > 1:
        return f"{numbers.ratio(told[0])} to {numbers.ratio(told[-1])} at {len(told)} points"
    low, high = (points[0][_METRIC][end] for end in ("low", "high"))
    doubt = ", so no difference can be told," if low is not None and low <= 1 <= high else ""
    return f"{numbers.ratio(told[0])}{_interval(low, high, points[0])}{doubt}"


def _interval(low: float | None, high: float | None, point: Point) -> str:
    """Tell in how far a point's ratio can be told: its interval, or of how few rounds it is."""
    if low is None or high is None:
        return f" (in {numbers.plural(point[_METRIC]['rounds'], 'round')}, no interval)"
    return f" ({numbers.ratio(low)} to {numbers.ratio(high)})"


def unlike(sides: Sides) -> Iterator[str]:
    """Name the points where they do not promise the same, or are not known to; nothing where they do everywhere."""
    points = _shown(sides)
    for same, words in ((False, "do not promise the same"), (None, "are not known to promise the same")):
        labels = [_label(point) for point in points if point["same"] is same]
        where = "; ".join(labels) if len(labels) <= _MOST else f"{len(labels)} of {len(points)} points"
        at = f" at {where}" if where else ""
        if labels:
            yield f"{' and '.join(_names(sides))} {words}{at}: no ratio is told there."


def _shown(sides: Sides) -> Sequence[Point]:
    points: Sequence[Point] = sides["points"]
    return [point for point in points if point["values"].get(EMULATED_FSYNC) == AS_IS] or points


def _point(sides: Sides, point: Point, limits: Mapping[str, str | None]) -> str:
    said = _opening(_label(point))
    ratio = point[_METRIC]["ratio"]
    if ratio is None:
        return f"{said}no ratio can be given, no round has both."
    low, high = point[_METRIC]["low"], point[_METRIC]["high"]
    rates = [point[_METRIC][side] for side in ("first", "second")]
    names = _names(sides)
    limited = [limits.get(case) for case in point["cases"]]
    if ratio < 1 and (ratio if low is None else low) > 0:
        names, rates, limited, ratio = names[::-1], rates[::-1], limited[::-1], 1 / ratio
        low, high = (None if end is None else 1 / end for end in (high, low))
    doubt = "no difference can be told: " if low is not None and low <= 1 <= high else ""
    one, other = map(numbers.rate, rates)
    goes_on = _goes_on(sides, point)
    limit = f" (limited by: {numbers.side_by_side(limited)})" if any(limited) else ""
    told = f"{numbers.ratio(ratio)}{_interval(low, high, point)}"
    return (
        f"{said}{doubt}{names[0]} has {told} the throughput of {names[1]}, "
        f"{one} against {other} messages/s{limit}{f'; {goes_on}' if goes_on else ''}{_crowded(point)}."
    )


def _dearer(sides: Sides, point: Point) -> str:
    """Tell what becomes of a point that survives a power cut where each fsync was made to cost more; else nothing.

    Always the first system over the second, so that a reader sees where it turns.
    """
    if not point.get("power"):
        return ""
    told = [
        f"by {other['values'][EMULATED_FSYNC]} {_times(other)}"
        for other in sides["points"]
        if other is not point and _apart_from_fsyncs(other) == _apart_from_fsyncs(point)
    ]
    first, second = _names(sides)
    begun = f" Where each fsync takes longer (emulated), {first} over {second}, in messages/s: "
    return f"{begun}{'; '.join(told)}." if told else ""


def _times(point: Point) -> str:
    told = point[_METRIC]
    if told["ratio"] is None:
        return "no ratio"
    rates = f"{numbers.rate(told['first'])} against {numbers.rate(told['second'])}"
    return f"{numbers.ratio(told['ratio'])}{_interval(told['low'], told['high'], point)}, {rates}"


def _apart_from_fsyncs(point: Point) -> Mapping[str, str]:
    return {name: str(value) for name, value in point["values"].items() if name != EMULATED_FSYNC}


def _opening(label: str) -> str:
    """A label as it begins a sentence; a setting's own name stays as it is."""
    first, _, _ = label.partition(",")
    begun = label if "=" in first else numbers.sentence(label)
    return f"{begun}: " if label else ""


def _goes_on(sides: Sides, point: Point) -> str:
    """Say whose writes alone go on with a node gone; empty where that is the same, or not known."""
    one, other = point["go_on"]
    if one is None or other is None or one == other:
        return ""
    return f"with one node gone writes go on in {_names(sides)[0 if one else 1]} only"


def _but(words: str) -> str:
    return f" ({words})" if words else ""


def _crowded(point: Point) -> str:
    """Say how many of the trials behind a ratio shared the cores with other work."""
    count = point.get("crowded")
    return f"; {numbers.plural(count, 'trial')} of these ran beside other work" if count else ""


def _span(sides: Sides, ordered: Sequence[Point]) -> str:
    first, second = _names(sides)
    low, high = (
        f"{numbers.ratio(point[_METRIC]['ratio'])} ({_label(point)})" for point in (ordered[0], ordered[-1])
    )
    return (
        f"At the {len(ordered)} points where both promise the same {first} has from {low} to {high} "
        f"the throughput of {second}."
    )


def _names(sides: Sides) -> list[str]:
    return [str(system).capitalize() for system in sides["systems"]]


def _label(point: Point) -> str:
    """Name a point by its settings; what is a phrase stands for itself."""
    values = _apart_from_fsyncs(point)
    said = [value if " " in value else f"{name}={value}" for name, value in values.items()]
    if added := point["values"].get(EMULATED_FSYNC):
        said.append(f"fsyncs {added}" if added == AS_IS else f"fsyncs {added} longer, emulated")
    return ", ".join(said)
