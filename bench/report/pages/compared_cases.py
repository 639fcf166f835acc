"""Which cases the figure of an answer shows: the declared comparisons, else both systems at equal guarantees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench import numbers
from bench.report import sweep
from bench.report.answer import guarantees
from bench.report.answer.comparisons import leading_metric
from bench.report.answer.configurations import Configurations
from bench.report.answer.guarantees import Point
from bench.report.answer.outage_changes import case_pairs
from bench.report.figures.comparison_rows import CaseRow, ComparedCases
from bench.report.presentation import DeclaredComparison, Presentation
from bench.report.results import Results

_MOST_POINTS = 3


def compared_cases(results: Results, presentation: Presentation) -> list[ComparedCases]:
    """Return what the figure of a run's answer shows; nothing where nothing is compared.

    Where something broke these are the declared changes of the time without writes.
    """
    if results.valid.empty:
        return []
    cases = Configurations(results, presentation.labels)
    if results.is_fault_run:
        return list(_outage_changes(cases, presentation))
    declared = [
        compared for comparison in presentation.comparisons for compared in _declared_cases(cases, comparison)
    ]
    return declared or list(_default_cases(cases))


def _outage_changes(cases: Configurations, presentation: Presentation) -> Iterator[ComparedCases]:
    for comparison in presentation.comparisons:
        for pair in case_pairs(cases.parts, comparison):
            yield from _change(cases, comparison, (pair.of, pair.to))


def _declared_cases(cases: Configurations, comparison: DeclaredComparison) -> Iterator[ComparedCases]:
    if not comparison.change:
        yield from _of_points(cases, guarantees.declared_points(cases, comparison), comparison.metric)
        return
    of, to = (cases.case(comparison.system, settings) for settings in (comparison.of, comparison.to))
    if of is not None and to is not None:
        yield from _change(cases, comparison, (of, to))


def _change(
    cases: Configurations, comparison: DeclaredComparison, pair: tuple[str, str]
) -> Iterator[ComparedCases]:
    """Give two cases of a system under the names of what differs; what they share stands in the title."""
    metric, system = comparison.metric, comparison.system
    if not all(_is_measured(cases, case, metric) for case in pair):
        return
    part = next(part for part in cases.parts if part.system == system)
    settings = [dict(zip(part.settings, part.values(cases.row(case)), strict=True)) for case in pair]
    first, second = settings
    varied = part.varied_settings
    differing = [name for name in varied if first[name] != second[name]]
    shared = _words(cases, system, {name: first[name] for name in varied if name not in differing})
    labels = [_words(cases, system, {name: setting[name] for name in differing}) for setting in settings]
    title = f"{numbers.sentence(comparison.change)}{f' ({shared})' if shared else ''}"
    rows = (CaseRow(system, label, case) for label, case in zip(labels, pair, strict=True))
    yield ComparedCases(title, metric, tuple(rows))


def _is_measured(cases: Configurations, case: str, metric: str) -> bool:
    trials = cases.results.valid
    return metric in trials and bool(trials.loc[trials["case"] == case, metric].notna().any())


def _words(cases: Configurations, system: str, settings: Mapping[str, str]) -> str:
    """Name some settings in short words; empty for none."""
    return ", ".join(filter(None, (cases.value(system, name, value) for name, value in settings.items())))


def _default_cases(cases: Configurations) -> Iterator[ComparedCases]:
    by_guarantee: dict[tuple[str, ...], list[Point]] = {}
    for point in guarantees.points(cases):
        by_guarantee.setdefault(point.survives, []).append(point)
    for points in by_guarantee.values():
        yield from _of_points(cases, points, leading_metric(cases))


def _of_points(cases: Configurations, points: Sequence[Point], metric: str) -> Iterator[ComparedCases]:
    """Give both systems at points of one guarantee, on the unmodified disk."""
    own_disk = guarantees.own_disk_points(points)
    for point in sweep.evenly(own_disk, _MOST_POINTS):
        settings_text = _settings_text(cases, point) if len(own_disk) > 1 else ""
        title = f"Survives {point.survives[0]}{f': {settings_text}' if settings_text else ''}"
        yield from _measured_comparison(
            cases, title, metric, list(zip(point.systems, point.cases, strict=True))
        )


def _settings_text(cases: Configurations, point: Point) -> str:
    """Name the settings of a point, but for those of the configurations that were chosen."""
    chosen_settings = set(point.entry.get("chosen") or ())
    named = {name: value for name, value in point.apart_from_disk.items() if name not in chosen_settings}
    return ", ".join(filter(None, (cases.value(point.systems[0], *setting) for setting in named.items())))


def _measured_comparison(
    cases: Configurations, title: str, metric: str, system_cases: Sequence[tuple[str, str]]
) -> Iterator[ComparedCases]:
    """Give a comparison where every case has the metric."""
    if all(not numbers.absent(cases.row(case).get(metric)) for _, case in system_cases):
        rows = tuple(CaseRow(system, cases.label(case), case) for system, case in system_cases)
        yield ComparedCases(title, metric, rows)
