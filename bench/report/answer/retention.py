"""The answer of a run in which nothing breaks but time passes: what is left of acknowledged messages, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench import numbers
from bench.model import ENOUGH_TRIALS
from bench.report import other_runs, sweep
from bench.report.answer.conditions import conditions
from bench.report.answer.expected import expected
from bench.report.answer.faults import agreed
from bench.report.answer.glossary import glossary
from bench.report.answer.model import Answer, Finding
from bench.report.answer.notices import uncounted
from bench.report.answer.sentences import sentence
from bench.report.presentation import Presentation
from bench.report.remaining import Found, Remaining, bytes_text, remaining
from bench.report.results import Results
from bench.report.sections import fault_settings
from bench.report.table import Cell, Column, Row, Table, heading, without_empty
from bench.systems.registry import describe

_READ, _DISK = "readings", "over-time"


def answer(results: Results, presentation: Presentation) -> Answer:
    """Return the answer of a run whose steps only waited and read. Raises ReportError."""
    parts = sweep.parts(results)
    every = remaining(results, parts, presentation.labels)
    found, shown = tuple(_findings(results, every)), _table(results, parts, every)
    causes = tuple(agreed(results, presentation))
    amber = tuple(_notices(results, presentation.note))
    texts = [*(one.whole for one in found), *amber, *(f"{cause.text} {cause.prevention}" for cause in causes)]
    texts += [cell.text for row in shown.rows for cell in row.cells] if shown else []
    return Answer(
        title=presentation.title or str(results.manifest.get("title") or results.run.name),
        question=presentation.question or str(results.manifest.get("question") or ""),
        findings=found,
        conditions=conditions(results),
        causes=causes,
        table=shown,
        glossary=glossary(" ".join(texts)),
        notices=amber,
        expectations=expected(results, presentation.claims),
        figure="stored",
    )


def _findings(results: Results, every: Sequence[Remaining]) -> Iterator[Finding]:
    if not every:
        yield Finding(sentence("no-valid-trial"), decided=False, anchor="left-out")
        return
    decided = results.rounds >= ENOUGH_TRIALS
    if new := [_slots(one, one.new) for one in every if one.new]:
        yield Finding(sentence("remaining-new", {"found": new}), decided, _READ)
    for group in dict.fromkeys(group for one in every for group in one.groups):
        those = [(one, one.groups[group]) for one in every if group in one.groups]
        if not all(found.whole for _, found in those):
            slots = {"group": group, "found": [_slots(one, found) for one, found in those]}
            yield Finding(sentence("remaining-group", slots), decided, _READ)
    if sizes := [one for one in every if not numbers.absent(one.most)]:
        slots = {
            "sizes": [
                {
                    "system": size.title,
                    "label": size.label,
                    "most": bytes_text(size.most),
                    "last": bytes_text(size.last),
                }
                for size in sizes
            ]
        }
        yield Finding(sentence("remaining-disk", slots), decided, _DISK)


def _slots(one: Remaining, found: Found) -> dict[str, Any]:
    return {"system": one.title, "label": one.label, "text": found.text}


def _notices(results: Results, note: str) -> Iterator[str]:
    if note:
        yield note
    if changes := other_runs.changes(results.manifest):
        yield sentence("notice-changed", {"changes": changes})
    yield from uncounted(results)


def _table(results: Results, parts: Sequence[sweep.Part], every: Sequence[Remaining]) -> Table | None:
    """Return a row a configuration: what is found by whom, and bytes on disk."""
    groups = list(dict.fromkeys(group for one in every for group in one.groups))
    columns = (
        *(Column("configuration", "name"), Column("settings", "values"), Column("a new reader finds")),
        *(Column(f"group {group} finds") for group in groups),
        *(Column(_segments(every)), Column("on disk, most"), Column("on disk, at the end")),
    )
    rows = [row for part in parts for row in _rows(results, part, every, groups)]
    return without_empty(Table("What is left", columns, tuple(rows))) if rows else None


def _rows(
    results: Results, part: sweep.Part, every: Sequence[Remaining], groups: Sequence[str]
) -> Iterator[Row]:
    own = [one for one in every if one.system == part.system]
    settings = [fault_settings.settings(results, part, one.cases) for one in own]
    common = fault_settings.shared(settings)
    if own:
        yield heading(": ".join(filter(None, (part.title, fault_settings.words(common)))), opens=True)
    for one, of_case in zip(own, settings, strict=True):
        differing = fault_settings.words(fault_settings.without(of_case, common))
        yield Row(
            (
                Cell(one.label or part.title),
                Cell(differing or numbers.NOTHING),
                _cell(one.new),
                *(_cell(one.groups.get(group)) for group in groups),
                Cell(numbers.count(one.segments)),
                Cell(bytes_text(one.most)),
                Cell(bytes_text(one.last)),
            )
        )


def _segments(every: Sequence[Remaining]) -> str:
    """Head the column of how many segments a partition had most, by what systems that have any call them."""
    systems = dict.fromkeys(one.system for one in every if not numbers.absent(one.segments))
    return " / ".join(f"{describe(system).segment}s" for system in systems) or "segments"


def _cell(found: Found | None) -> Cell:
    if found is None:
        return Cell(numbers.NOTHING, "quiet")
    return Cell(found.text, "plain" if found.whole else "strong")
