"""The answer of a run in which nothing breaks but time passes: what is left of acknowledged messages, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

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
from bench.report.remaining import FoundMessages, Remaining, bytes_text, remaining
from bench.report.results import Results
from bench.report.sections import fault_settings
from bench.report.table import Cell, Column, Row, Table, heading, without_empty
from bench.systems.registry import describe

_READ, _DISK = "readings", "over-time"
_DIFFERENT = 2.0
"""Numbers of segments that differ by such a factor, or more, are stated."""


class _Part(NamedTuple):
    """A sentence, its section, and how much what it states differs between configurations: from 0 to 1."""

    text: str
    anchor: str
    spread: float


def answer(results: Results, presentation: Presentation) -> Answer:
    """Return the answer of a run whose steps only waited and read. Raises ReportError."""
    parts = sweep.parts(results)
    remainders = remaining(results, parts, presentation.labels)
    findings, shown = tuple(_findings(results, remainders)), _table(results, parts, remainders)
    causes = tuple(agreed(results, presentation))
    amber = tuple(_notices(results, presentation.note))
    texts = [
        *(finding.full_text for finding in findings),
        *amber,
        *(f"{cause.text} {cause.prevention}" for cause in causes),
    ]
    texts += [cell.text for row in shown.rows for cell in row.cells] if shown else []
    return Answer(
        title=presentation.title or str(results.manifest.get("title") or results.run.name),
        question=presentation.question or str(results.manifest.get("question") or ""),
        findings=findings,
        conditions=conditions(results),
        causes=causes,
        table=shown,
        glossary=glossary(" ".join(texts)),
        notices=amber,
        expectations=expected(results, presentation.claims),
        figure="stored",
    )


def _findings(results: Results, remainders: Sequence[Remaining]) -> Iterator[Finding]:
    """State first what differs most between configurations."""
    if not remainders:
        yield Finding(sentence("no-valid-trial"), decided=False, anchor="left-out")
        return
    decided = results.rounds >= ENOUGH_TRIALS
    parts = [_for_readers(remainders), *_for_groups(remainders)]
    parts += [_on_disk(remainders), _in_segments(remainders)]
    stated = [part for part in parts if part is not None]
    for part in sorted(stated, key=lambda part: -part.spread):
        yield Finding(part.text, decided, part.anchor)


def _for_readers(remainders: Sequence[Remaining]) -> _Part | None:
    """State what a reader that comes new at the end finds."""
    pairs = [(remainder, remainder.new) for remainder in remainders if remainder.new]
    if not pairs:
        return None
    if all(messages.complete for _, messages in pairs):
        return _Part(sentence("remaining-all", {"several": len(pairs) > 1}), _READ, 0.0)
    text = sentence("remaining-new", {"found": [_slots(*pair) for pair in pairs]})
    return _Part(text, _READ, _spread([messages.share for _, messages in pairs]))


def _for_groups(remainders: Sequence[Remaining]) -> Iterator[_Part]:
    """State what each consumer group finds that does not find all."""
    for group in dict.fromkeys(group for remainder in remainders for group in remainder.groups):
        pairs = [
            (remainder, remainder.groups[group]) for remainder in remainders if group in remainder.groups
        ]
        if not all(messages.complete for _, messages in pairs):
            text = sentence("remaining-group", {"group": group, "found": [_slots(*pair) for pair in pairs]})
            yield _Part(text, _READ, _spread([messages.share for _, messages in pairs]))


def _on_disk(remainders: Sequence[Remaining]) -> _Part | None:
    sizes = [remainder for remainder in remainders if not numbers.absent(remainder.most)]
    if not sizes:
        return None
    slots = [
        {
            "system": size.title,
            "label": size.label,
            "most": bytes_text(size.most),
            "last": bytes_text(size.last),
        }
        for size in sizes
    ]
    kept_shares = [size.last / size.most for size in sizes if size.most]
    return _Part(sentence("remaining-disk", {"sizes": slots}), _DISK, _spread(kept_shares))


def _in_segments(remainders: Sequence[Remaining]) -> _Part | None:
    """State into how many segments a partition fell, where that differs between configurations."""
    counted = [remainder for remainder in remainders if not numbers.absent(remainder.segments)]
    counts = [remainder.segments for remainder in counted]
    if not counts or max(counts) < _DIFFERENT * min(counts):
        return None
    words = " or ".join(dict.fromkeys(f"{describe(remainder.system).segment}s" for remainder in counted))
    slots = [
        {
            "system": remainder.title,
            "label": remainder.label,
            "count": numbers.count(remainder.segments),
            "words": words,
        }
        for remainder in counted
    ]
    text = sentence("remaining-segments", {"segments": slots})
    return _Part(text, _DISK, 1 - min(counts) / max(counts))


def _spread(shares: Sequence[float]) -> float:
    return max(shares) - min(shares) if shares else 0.0


def _slots(remainder: Remaining, messages: FoundMessages) -> dict[str, Any]:
    return {"system": remainder.title, "label": remainder.label, "text": messages.text}


def _notices(results: Results, note: str) -> Iterator[str]:
    if note:
        yield note
    if changes := other_runs.changes(results.manifest):
        yield sentence("notice-changed", {"changes": changes})
    yield from uncounted(results)


def _table(results: Results, parts: Sequence[sweep.Part], remainders: Sequence[Remaining]) -> Table | None:
    """Return a row a configuration: what is found by whom, and bytes on disk."""
    groups = list(dict.fromkeys(group for remainder in remainders for group in remainder.groups))
    columns = (
        *(Column("configuration", "name"), Column("settings", "values"), Column("a new reader finds")),
        *(Column(f"group {group} finds") for group in groups),
        *(Column(_segments(remainders)), Column("on disk, most"), Column("on disk, at the end")),
    )
    rows = [row for part in parts for row in _rows(results, part, remainders, groups)]
    return without_empty(Table("What is left", columns, tuple(rows))) if rows else None


def _rows(
    results: Results, part: sweep.Part, remainders: Sequence[Remaining], groups: Sequence[str]
) -> Iterator[Row]:
    system_remainders = [remainder for remainder in remainders if remainder.system == part.system]
    settings = [fault_settings.settings(results, part, remainder.cases) for remainder in system_remainders]
    common = fault_settings.shared(settings)
    if system_remainders:
        yield heading(": ".join(filter(None, (part.title, fault_settings.words(common)))), opens=True)
    for remainder, of_case in zip(system_remainders, settings, strict=True):
        differing = fault_settings.words(fault_settings.without(of_case, common))
        yield Row(
            (
                Cell(remainder.label or part.title),
                Cell(differing or numbers.NOTHING),
                _cell(remainder.new),
                *(_cell(remainder.groups.get(group)) for group in groups),
                Cell(numbers.count(remainder.segments)),
                Cell(bytes_text(remainder.most)),
                Cell(bytes_text(remainder.last)),
            )
        )


def _segments(remainders: Sequence[Remaining]) -> str:
    """Head the column of how many segments a partition had most, by what systems that have any call them."""
    systems = dict.fromkeys(
        remainder.system for remainder in remainders if not numbers.absent(remainder.segments)
    )
    return " / ".join(f"{describe(system).segment}s" for system in systems) or "segments"


def _cell(messages: FoundMessages | None) -> Cell:
    if messages is None:
        return Cell(numbers.NOTHING, "quiet")
    return Cell(messages.text, "plain" if messages.complete else "strong")
