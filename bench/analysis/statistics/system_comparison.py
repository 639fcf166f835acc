"""Both systems side by side: ratios at the same settings or guarantee, paired by round.

Like is what has the same settings, where a scenario sweeps the same of both; else what promises the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.guarantee import Guarantee
from bench.model import ENOUGH_TRIALS, has_other_work
from bench.statistics.interval import by_round, level, pair_by_round, values_by_case
from bench.statistics.round_ratios import Groups, RoundRatios
from bench.statistics.slice_series import SliceSeries
from bench.systems.registry import system_title

Row = Mapping[str, Any]
Rows = Sequence[Row]
Point = tuple[str, ...]
"""A value of each swept setting."""

_RATE = "throughput_msgs_per_s"
METRICS = (_RATE, "service_p99_ns", "e2e_p99_ns")


def sides(  # noqa: PLR0913, PLR0917 - what was measured, and what is known of each case
    trials: Sequence[Row],
    swept: Mapping[str, Sequence[str]],
    promises: Mapping[str, Guarantee | None],
    copies: Mapping[str, int],
    clusters: Groups,
    slices: SliceSeries,
) -> dict[str, Any] | None:
    """Compare two systems at every point of the sweep that both have; None where there is none.

    Where they do not sweep the same (`matched`), the points are those of what both sweep, and of what both promise
    there. Of each system's configurations with that promise the one with the fewest copies stands for it, of several
    the first: nothing that was measured picks it. One with fewer than five valid rounds does only where none has more.

    `trials` are rows of the table, in the order in which the points are to come. `swept` names each system's settings.
    By case, `promises` has what it promises, `copies` how many it makes, `clusters` its cluster, and `slices` what its
    slices came to. A ratio is the first system's value over the second's, over the rounds in which both have one
    (round_ratios.py).
    """
    if len(swept) != 2:
        return None
    (first, settings), (second, second_settings) = swept.items()
    matched = set(settings) != set(second_settings)
    figures = _Figures(trials, clusters, slices)
    if matched:
        points = list(_matched_points(trials, swept, promises, copies, figures))
        settings = [name for name in settings if name in second_settings] + [
            _settings_column(name) for name in swept
        ]
    else:
        first_points, second_points = (_points(trials, system, settings) for system in (first, second))
        points = [
            _point(
                dict(zip(settings, point, strict=True)),
                (first_points[point], second_points[point]),
                promises,
                figures,
            )
            for point in first_points
            if point in second_points
        ]
    comparison = {
        "systems": [first, second],
        "settings": list(settings),
        "matched": matched,
        "points": points,
    }
    return comparison if points else None


def _point(
    values: Mapping[str, str],
    compared: tuple[Rows, Rows],
    promises: Mapping[str, Guarantee | None],
    figures: _Figures,
) -> dict[str, Any]:
    """Compare a case of either side."""
    cases = [rows[0]["case"] for rows in compared]
    return {
        "values": values,
        "cases": cases,
        **_guarantee_fields([promises.get(case) for case in cases]),
        "crowded": sum(has_other_work(row.get("other_cpu")) for rows in compared for row in rows),
        **{
            metric: {
                **dict(
                    zip(
                        ("first", "second"),
                        (_level(by_round(rows, metric)) for rows in compared),
                        strict=True,
                    )
                ),
                **figures.ratio(cases, metric),
            }
            for metric in METRICS
        },
    }


class _Figures:
    """The figures of all valid trials, which share what is known of how much ratios vary."""

    def __init__(self, trials: Sequence[Row], clusters: Groups, slices: SliceSeries) -> None:
        """Take the rows of `trials`, the cluster of each case, and what its slices came to."""
        valid = [row for row in trials if row["verdict"] == "valid"]
        self._values = {metric: values_by_case(valid, metric) for metric in METRICS}
        self._ratios = {
            metric: RoundRatios(values, clusters, slices.get(metric))
            for metric, values in self._values.items()
        }

    def ratio(self, cases: Sequence[str], metric: str) -> dict[str, Any]:
        """Return the ratio of two cases, with its interval and rounds."""
        first, second = cases
        ratio = self._ratios[metric].ratio(first, second)
        interval = ratio.interval() if ratio else None
        values = self._values[metric]
        return {
            "rounds": len(pair_by_round(values[first], values[second])),
            "ratio": ratio.ratio if ratio else None,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
        }


def _matched_points(
    trials: Sequence[Row],
    swept: Mapping[str, Sequence[str]],
    promises: Mapping[str, Guarantee | None],
    copies: Mapping[str, int],
    figures: _Figures,
) -> Iterator[dict[str, Any]]:
    """Give a point for each value of what both sweep and each promise that both have there."""
    settings, second_settings = swept.values()
    shared = [name for name in settings if name in second_settings]
    first_points, second_points = (_points(trials, system, shared) for system in swept)
    for point in first_points:
        cases_here = [
            list(_points(rows.get(point, ()), system, ["case"]).values())
            for system, rows in zip(swept, (first_points, second_points), strict=True)
        ]
        for promise in _distinct(promises.get(rows[0]["case"]) for rows in cases_here[0]):
            promising = [_cases_with_promise(cases, promise, promises) for cases in cases_here]
            if all(promising):
                first_case, second_case = (
                    min(candidates, key=lambda rows: copies.get(rows[0]["case"], 0))
                    for candidates in promising
                )
                chosen_keys = {
                    _settings_column(system): " ".join(
                        f"{name}={rows[0][name]}" for name in names if name not in shared
                    )
                    for (system, names), rows in zip(swept.items(), (first_case, second_case), strict=True)
                }
                values = dict(zip(shared, point, strict=True)) | chosen_keys
                made = _point(values, (first_case, second_case), promises, figures)
                yield {**made, "chosen": list(chosen_keys)}


def _distinct(promises: Iterable[Guarantee | None]) -> list[Guarantee]:
    """Return each promise that is known once."""
    distinct: list[Guarantee] = []
    for promise in promises:
        if promise and not any(promise.same(earlier) for earlier in distinct):
            distinct.append(promise)
    return distinct


def _settings_column(system: str) -> str:
    return f"{system_title(system)} settings"


def _cases_with_promise(
    cases: Iterable[Rows], promise: Guarantee, promises: Mapping[str, Guarantee | None]
) -> list[Rows]:
    """Give the trials of each case that promises the same and has a throughput, in rounds enough where any has."""
    candidates = [
        rows
        for rows in cases
        if (case_promise := promises.get(rows[0]["case"]))
        and promise.same(case_promise)
        and by_round(rows, _RATE)
    ]
    enough = [rows for rows in candidates if len(by_round(rows, _RATE)) >= ENOUGH_TRIALS]
    return enough or candidates


def _points(trials: Iterable[Row], system: str, settings: Sequence[str]) -> dict[Point, list[Row]]:
    rows_by_point: dict[Point, list[Row]] = {}
    for row in trials:
        if row["system"] == system and row["verdict"] == "valid":
            rows_by_point.setdefault(tuple(row[name] for name in settings), []).append(row)
    return rows_by_point


def _guarantee_fields(promises: Sequence[Guarantee | None]) -> dict[str, Any]:
    """Say what both survive, whether that is the same, a power cut included, and whose writes go on with a node gone.

    Null where that is not known.
    """
    first_promise, second_promise = promises
    return {
        "survives": [promise and promise.survives for promise in promises],
        "same": first_promise.same(second_promise) if first_promise and second_promise else None,
        "power": bool(first_promise and second_promise and first_promise.power and second_promise.power),
        "go_on": [
            promise.spare > 0 if promise and promise.spare is not None else None for promise in promises
        ],
    }


def _level(values: Mapping[int, float]) -> float | None:
    """Return the level over the rounds; None where it falls among times of what never came."""
    middle = level([*values.values()]) if values else math.inf
    return middle if math.isfinite(middle) else None
