"""The table of an answer: guarantees with both systems' settings and figures, else each system's configurations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from bench import numbers
from bench.model import EMULATED_FSYNC
from bench.report import sweep
from bench.report.answer import guarantees
from bench.report.answer.configurations import Configurations, Measure, ValueText, words
from bench.report.answer.effect import Effect, EffectOutcome
from bench.report.answer.guarantees import Point, Standing
from bench.report.presentation import DeclaredComparison
from bench.report.table import Cell, Column, Row, Table, without_empty
from bench.scenario.values import AS_IS
from bench.systems.registry import describe

MOST_ROWS = 8
_HEADS = {Measure.SEND: "ms a send (/s)", Measure.RATE: "messages/s", Measure.BYTES: "MB/s"}


def table(
    cases: Configurations, metric: str, comparisons: Sequence[DeclaredComparison] = (), *, only: bool = False
) -> Table | None:
    """Return the table of an answer, at most eight rows; None where the run has measured nothing.

    Configurations that `comparisons` compare go before others. With `only` there are no other rows, and those of
    guarantees are of the machine's own disk; None where nothing is compared.
    """
    points = _shown_points(guarantees.points(cases))
    measured = [] if points else _measured_cases(cases, metric)
    compared = {case for comparison in comparisons for case in _comparison_cases(cases, comparison)}
    if only:
        points = [point for point in guarantees.own_disk_points(points) if compared & {*point.cases}]
        measured = [case for case in measured if case in compared]
    if points:
        return _of_guarantees(cases, sweep.evenly(points, MOST_ROWS), metric)
    return _of_cases(cases, fitting_rows(measured, compared), metric) if measured else None


def fitting_rows(measured: Sequence[str], compared: Collection[str]) -> list[str]:
    """Return the cases that have room: those compared, and some of the others, evenly, in their order."""
    first = [case for case in measured if case in compared][:MOST_ROWS]
    remaining_cases = [case for case in measured if case not in compared]
    shown_cases = {*first, *sweep.evenly(remaining_cases, MOST_ROWS - len(first))}
    return [case for case in measured if case in shown_cases]


def _comparison_cases(cases: Configurations, comparison: DeclaredComparison) -> Iterator[str]:
    """Give the cases that a comparison is of."""
    if comparison.change:
        pair = (cases.case(comparison.system, settings) for settings in (comparison.of, comparison.to))
        yield from (case for case in pair if case is not None)
    else:
        for point in guarantees.declared_points(cases, comparison):
            yield from point.cases


def _measured_cases(cases: Configurations, metric: str) -> list[str]:
    """Return the cases that have a figure."""
    return [case for case in cases.names if not numbers.absent(cases.row(case).get(metric))]


def _shown_points(points: Sequence[Point]) -> list[Point]:
    """Return the points on the machine's own disk, and those on slower ones that wait for it where there is room."""
    own_disk = guarantees.own_disk_points(points)
    waiting = [point for point in points if point.entry.get("power") and point not in own_disk]
    return [*own_disk, *waiting] if len(own_disk) + len(waiting) <= MOST_ROWS else own_disk


def _of_guarantees(cases: Configurations, points: Sequence[Point], metric: str) -> Table:
    head = _head(cases, points[0].cases[0], metric)
    first_title, second_title = (points[0].title(side) for side in (0, 1))
    columns = (
        Column("a message survives", "text"),
        Column("at", "text"),
        Column(f"{first_title} settings", "values"),
        Column(f"{second_title} settings", "values"),
        Column(first_title, "number", head),
        Column(second_title, "number", head),
        Column("ahead", "text"),
    )
    rows = [_row(cases, point, metric, above) for above, point in zip((None, *points), points, strict=False)]
    return without_empty(Table("Equal guarantees", columns, tuple(rows)))


def _row(cases: Configurations, point: Point, metric: str, previous: Point | None) -> Row:
    """Return a point's row; what it shares with the row above of the same guarantee stands only there."""
    guarantee = _guarantee(point)
    above = previous if previous is not None and _guarantee(previous) == guarantee else None
    figures = guarantees.side_figures(cases, point, metric)
    return Row(
        (
            Cell("" if above else guarantee),
            Cell(_differing_words(_at(cases, point), _at(cases, above) if above else [])),
            *(Cell(text) for text in _settings(cases, point, above)),
            *(
                Cell(_text(cases, case, metric, figure))
                for case, figure in zip(point.cases, figures, strict=True)
            ),
            _ahead(cases, point, guarantees.standing(cases, point, metric)),
        ),
        opens=previous is not None and above is None,
    )


def _differing_words(words: Sequence[str], above: Sequence[str]) -> str:
    return ", ".join(word for word in words if word not in above) or numbers.NOTHING


def _settings(cases: Configurations, point: Point, above: Point | None) -> Iterator[str]:
    """Give both systems' settings, empty where they are those of the row above."""
    for place, case in enumerate(point.cases):
        case_settings = settings(cases, case)
        yield "" if above and settings(cases, above.cases[place]) == case_settings else case_settings


def _guarantee(point: Point) -> str:
    """What both survive, and where writes go on in one of them only with a node gone."""
    first_goes_on, second_goes_on = point.entry["go_on"]
    if first_goes_on is None or second_goes_on is None or first_goes_on == second_goes_on:
        return guarantees.short(point.survives[0])
    title = point.title(0 if first_goes_on else 1)
    return f"{guarantees.short(point.survives[0])}; while one is gone only {title} takes writes"


def _at(cases: Configurations, point: Point) -> list[str]:
    """Name each setting of the point that both sweep; not which configuration stands for each there."""
    chosen_settings = point.entry.get("chosen") or ()
    named = {
        name: value
        for name, value in point.values.items()
        if name not in chosen_settings and (name, value) != (EMULATED_FSYNC, AS_IS)
    }
    value_words = (cases.value(point.systems[0], setting, str(value)) for setting, value in named.items())
    return [word for word in value_words if word]


def settings(cases: Configurations, case: str) -> str:
    """Name what decides the guarantee of a case: replicas=3, min.insync.replicas=2, acks=all."""
    system = describe(str(cases.row(case)["system"]))
    return system.guarantee_words(cases.all_settings(case)) or numbers.NOTHING


def _ahead(cases: Configurations, point: Point, standing: Standing) -> Cell:
    effect = standing.effect.upward
    if standing.ahead is not None:
        return Cell(f"{point.title(standing.ahead)} {_times(effect)}", "strong")
    if standing.outcome is EffectOutcome.SAME:
        return Cell(f"none by more than {cases.smallest_words}", "neutral")
    return Cell("no difference can be told", "quiet", _times(effect))


def _times(effect: Effect) -> str:
    """Write an effect as a factor with its interval: 2.5 times (2.4 to 2.6)."""
    slots = effect.slots
    interval = f" ({slots.low} to {slots.high})" if slots.low else ""
    return f"{slots.factor} times{interval}" if slots.factor else numbers.NOTHING


def _of_cases(cases: Configurations, case_names: Sequence[str], metric: str) -> Table:
    """Return a row a case."""
    columns = (
        Column("configuration", "text"),
        Column("settings", "values"),
        Column(_head(cases, case_names[0], metric)),
        Column("against the baseline", "text"),
    )
    rows = tuple(
        Row(
            (
                Cell(cases.name_with_system(case)),
                Cell(settings(cases, case)),
                Cell(_text(cases, case, metric, cases.figure(case, metric))),
                _against(cases, case, metric),
            )
        )
        for case in case_names
    )
    return without_empty(Table("Configurations", columns, rows))


def _against(cases: Configurations, case: str, metric: str) -> Cell:
    """Write how many times the baseline's figure a case has: more or less throughput, or time."""
    baseline = (cases.results.manifest.get("baseline") or {}).get(cases.row(case)["system"])
    if baseline is None or baseline not in cases.names:
        return Cell(numbers.NOTHING, "quiet")
    if case == baseline:
        return Cell("baseline", "quiet")
    effect = cases.effect(case, baseline, metric)
    outcome = effect.outcome(cases.smallest)
    if not outcome.differs:
        return Cell(
            "no difference can be told" if outcome is EffectOutcome.UNDECIDED else "no difference", "quiet"
        )
    slower = (outcome is EffectOutcome.MORE) == (cases.measure(case, metric) is Measure.TIME)
    slots = effect.upward.slots
    interval = f" ({slots.low} to {slots.high})" if slots.low else ""
    return Cell(f"{slots.factor} times as {'slow' if slower else 'fast'}{interval}", "strong")


def _head(cases: Configurations, case: str, metric: str) -> str:
    measure = cases.measure(case, metric)
    return _HEADS.get(measure, words(metric).removeprefix("the ")) if measure else metric


def _text(cases: Configurations, case: str, metric: str, figure: ValueText) -> str:
    """Write a figure: of a send its time, with the rate behind it."""
    if cases.measure(case, metric) is Measure.SEND:
        return f"{figure.ms} ({figure.rate})"
    return figure.rate or figure.bytes or figure.time
