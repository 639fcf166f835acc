"""Both systems side by side, at every point of a sweep that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bench import numbers
from bench.report.results import Json, Results
from bench.report.sections.promise_evidence import PromiseEvidence
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Row, Table, heading, without_empty
from bench.systems.registry import system_title

_RATE = "throughput_msgs_per_s"
_SHOWN: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    (_RATE, "throughput, messages/s", numbers.rate),
    ("service_p99_ns", "service time, p99, ms", numbers.ms),
    ("e2e_p99_ns", "end to end, p99, ms", numbers.ms),
)
_OF_THE_CLOSED_LOOP = (
    " Throughput and times are those of the closed loop, which loads a cluster as far as it goes, whatever the delay; "
    "what it carries under a service level is in the section Capacity."
)


def sides(results: Results, elsewhere: PromiseEvidence | None = None) -> Table | None:
    """Return medians of both systems and their ratios, a row a point; None where there is no point that both have.

    Above the points of one pair of guarantees stand whether these are the same, and the settings that all share.
    There also stands whether the guarantees held in other runs, in which something broke.
    """
    comparison = results.summary.get("sides")
    if not comparison:
        return None
    names = [system_title(str(system)) for system in comparison["systems"]]
    groups = _groups(comparison, names, elsewhere)
    apart = [
        name for name in comparison["settings"] if any(_varies(name, points) for points in groups.values())
    ]
    settings = apart or comparison["settings"]
    columns = [Column(name, "name") for name in settings]
    for metric, group, _ in _SHOWN:
        heads = (*names, " / ".join(names), "interval")
        columns += [Column(head, "number", group) for head in heads]
        columns += [Column(f"limited by, {' / '.join(names)}", "name", group)] if metric == _RATE else []
    title = (
        "As the scenario sweeps other things of each system, they are matched by what an acknowledgement promises: of "
        "each the configuration with that promise that makes the fewest copies, of several the first: nothing that was "
        "measured picks it."
        if comparison.get("matched")
        else "Both systems where the scenario gives them the same: "
        f"{', '.join(comparison['settings']) or 'one configuration each'}."
    )
    title += "" if results.capacities.empty else _OF_THE_CLOSED_LOOP
    limits = dict(zip(results.cases["case"], results.cases["bottleneck"], strict=True))
    rows = tuple(_rows(groups, settings, limits))
    return without_empty(Table(title, tuple(columns), rows))


def _groups(
    comparison: Json, names: Sequence[str], elsewhere: PromiseEvidence | None
) -> dict[str, list[Json]]:
    """Put points together of which the same is to be said, by that."""
    groups: dict[str, list[Json]] = {}
    for point in comparison["points"]:
        words = f"{_promise_comparison(point, names)}{_evidence(point, comparison['systems'], elsewhere)}"
        groups.setdefault(words, []).append(point)
    return groups


def _varies(setting: str, points: Sequence[Json]) -> bool:
    return len({point["values"][setting] for point in points}) > 1


def _promise_comparison(point: Json, names: Sequence[str]) -> str:
    """Say whether both promise the same, what, and whose writes go on with a node gone."""
    if point["same"] is None:
        return "whether the guarantee is the same is not known"
    first_promise, second_promise = point["survives"]
    if not point["same"]:
        return f"not the same guarantee: {names[0]} survives {first_promise}; {names[1]} survives {second_promise}"
    only_one_goes_on = None not in point["go_on"] and len(set(point["go_on"])) > 1
    only = (
        f"; with one node gone writes go on in {names[point['go_on'].index(True)]} only"
        if only_one_goes_on
        else ""
    )
    return f"the same guarantee, survives {first_promise}{only}"


def _evidence(point: Json, systems: Sequence[str], elsewhere: PromiseEvidence | None) -> str:
    """Say whether they were kept where something broke; empty where that is not known of any."""
    if elsewhere is None or point["same"] is None:
        return ""
    evidence_words = [
        elsewhere.evidence(system, {survives})
        for system, survives in zip(systems, point["survives"], strict=True)
    ]
    words = ", ".join(filter(None, evidence_words))
    return f"; where such nodes broke: {words}" if words else ""


def _rows(
    groups: Mapping[str, Sequence[Json]], settings: Sequence[str], limits: Mapping[str, str]
) -> Iterator[Row]:
    for number, (promised, points) in enumerate(groups.items()):
        shared = [str(value) for name, value in points[0]["values"].items() if name not in settings]
        yield heading(numbers.sentence(": ".join([*shared, promised])), opens=number > 0)
        yield from (_row(point, settings, limits) for point in points)


def _row(point: Json, settings: Sequence[str], limits: Mapping[str, str]) -> Row:
    cells = [Cell(str(point["values"][name])) for name in settings]
    for metric, _, shown in _SHOWN:
        metric_values = point[metric]
        cells += [Cell(shown(metric_values["first"])), Cell(shown(metric_values["second"]))]
        cells += [
            _ratio(metric_values["ratio"], same_promise=point["same"]),
            Cell(numbers.between(metric_values["low"], metric_values["high"])),
        ]
        cells += [Cell(numbers.side_by_side(map(limits.get, point["cases"])))] if metric == _RATE else []
    return Row(tuple(cells))


def _ratio(ratio: float | None, *, same_promise: bool | None) -> Cell:
    """A ratio of what is not known to be alike is there, and does not stand out."""
    return Cell(numbers.ratio(ratio), "strong" if same_promise else "quiet")


def _content(report: ReportInput) -> Table | None:
    return sides(report.results, report.elsewhere)


SECTION = Section("system-comparison", "Side by side", _content)
