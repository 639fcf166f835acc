"""The answer of a run in which nothing breaks but time passes: what is left of acknowledged messages, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench import numbers
from bench.model import ENOUGH_TRIALS
from bench.report import other_runs, sweep
from bench.report.answer.conditions import conditions
from bench.report.answer.expectation_findings import expectation_findings
from bench.report.answer.faults import agreeing_causes
from bench.report.answer.glossary import glossary
from bench.report.answer.model import Answer, Finding
from bench.report.answer.notices import uncounted_trials
from bench.report.answer.sentences import sentence
from bench.report.message_retention import FoundMessages, MessageRetention, bytes_text, message_retention
from bench.report.presentation import Presentation
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
    retentions = message_retention(results, parts, presentation.labels)
    findings, shown = tuple(_findings(results, retentions)), _table(results, parts, retentions)
    causes = tuple(agreeing_causes(results, presentation))
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
        expectations=expectation_findings(results, presentation.claims),
        figure="stored",
    )


def _findings(results: Results, retentions: Sequence[MessageRetention]) -> Iterator[Finding]:
    """State first what differs most between configurations."""
    if not retentions:
        yield Finding(sentence("no-valid-trial"), decided=False, anchor="left-out")
        return
    decided = results.rounds >= ENOUGH_TRIALS
    parts = [_for_readers(retentions), *_for_groups(retentions)]
    parts += [_on_disk(retentions), _in_segments(retentions)]
    stated = [part for part in parts if part is not None]
    for part in sorted(stated, key=lambda part: -part.spread):
        yield Finding(part.text, decided, part.anchor)


def _for_readers(retentions: Sequence[MessageRetention]) -> _Part | None:
    """State what a reader that comes new at the end finds."""
    pairs = [(retention, retention.new) for retention in retentions if retention.new]
    if not pairs:
        return None
    if all(messages.complete for _, messages in pairs):
        return _Part(sentence("retention-all", {"several": len(pairs) > 1}), _READ, 0.0)
    text = sentence("retention-new", {"outcomes": _outcomes(retentions, _briefly(pairs))})
    return _Part(text, _READ, _spread([messages.share for _, messages in pairs]))


def _for_groups(retentions: Sequence[MessageRetention]) -> Iterator[_Part]:
    """State what each consumer group finds that does not find all."""
    for group in dict.fromkeys(group for retention in retentions for group in retention.groups):
        pairs = [
            (retention, retention.groups[group]) for retention in retentions if group in retention.groups
        ]
        if not all(messages.complete for _, messages in pairs):
            text = sentence(
                "retention-group", {"group": group, "outcomes": _outcomes(retentions, _briefly(pairs))}
            )
            yield _Part(text, _READ, _spread([messages.share for _, messages in pairs]))


def _on_disk(retentions: Sequence[MessageRetention]) -> _Part | None:
    sizes = [retention for retention in retentions if not numbers.absent(retention.most)]
    if not sizes:
        return None
    slots = _outcomes(retentions, [(size, _bytes_kept(size)) for size in sizes])
    kept_shares = [size.last / size.most for size in sizes if size.most]
    return _Part(sentence("retention-disk", {"sizes": slots}), _DISK, _spread(kept_shares))


def _in_segments(retentions: Sequence[MessageRetention]) -> _Part | None:
    """State into how many segments a partition fell, where that differs between configurations."""
    counted = [retention for retention in retentions if not numbers.absent(retention.segments)]
    counts = [retention.segments for retention in counted]
    if not counts or max(counts) < _DIFFERENT * min(counts):
        return None
    words = " or ".join(dict.fromkeys(f"{describe(retention.system).segment}s" for retention in counted))
    slots = [
        {
            "system": retention.title,
            "label": retention.label,
            "count": numbers.count(retention.segments),
            "words": words,
        }
        for retention in counted
    ]
    text = sentence("retention-segments", {"segments": slots})
    return _Part(text, _DISK, 1 - min(counts) / max(counts))


def _spread(shares: Sequence[float]) -> float:
    return max(shares) - min(shares) if shares else 0.0


def _bytes_kept(size: MessageRetention) -> str:
    """Say how many bytes were on disk: "61 MB to the end", "61 MB at most and 89 kB at the end"."""
    most, last = bytes_text(size.most), bytes_text(size.last)
    return f"{last} to the end" if most == last else f"{most} at most and {last} at the end"


def _briefly(
    pairs: Sequence[tuple[MessageRetention, FoundMessages]],
) -> list[tuple[MessageRetention, str]]:
    return [(retention, messages.brief) for retention, messages in pairs]


def _outcomes(
    retentions: Sequence[MessageRetention], texts: Sequence[tuple[MessageRetention, str]]
) -> list[dict[str, str]]:
    """Return each text of a configuration once, with all the configurations that have it."""
    cases_by_text: dict[str, list[MessageRetention]] = {}
    for retention, text in texts:
        cases_by_text.setdefault(text, []).append(retention)
    return [
        {"text": text, "where": _configurations(retentions, cases)} for text, cases in cases_by_text.items()
    ]


def _configurations(retentions: Sequence[MessageRetention], cases: Sequence[MessageRetention]) -> str:
    """Name configurations: "Kafka and Pulsar (no TTL; TTL of 20 s)"; a system alone where all of its are meant."""
    words = []
    for title in dict.fromkeys(case.title for case in cases):
        labels = [case.label for case in cases if case.title == title]
        all_of_system = len(labels) == sum(retention.title == title for retention in retentions)
        words.append(title if all_of_system or not all(labels) else f"{title} ({'; '.join(labels)})")
    return " and ".join(words)


def _notices(results: Results, note: str) -> Iterator[str]:
    if note:
        yield note
    if changes := other_runs.changes(results.manifest):
        yield sentence("notice-changed", {"changes": changes})
    yield from uncounted_trials(results)


def _table(
    results: Results, parts: Sequence[sweep.Part], retentions: Sequence[MessageRetention]
) -> Table | None:
    """Return a row a configuration: what is found by whom, and bytes on disk."""
    groups = list(dict.fromkeys(group for retention in retentions for group in retention.groups))
    columns = (
        *(Column("configuration", "name"), Column("settings", "values"), Column("a new reader finds")),
        *(Column(f"group {group} finds") for group in groups),
        *(Column(_segments(retentions)), Column("on disk, most"), Column("on disk, at the end")),
    )
    rows = [row for part in parts for row in _rows(results, part, retentions, groups)]
    return without_empty(Table("What is left", columns, tuple(rows))) if rows else None


def _rows(
    results: Results, part: sweep.Part, retentions: Sequence[MessageRetention], groups: Sequence[str]
) -> Iterator[Row]:
    system_retentions = [retention for retention in retentions if retention.system == part.system]
    settings = [fault_settings.settings(results, part, retention.cases) for retention in system_retentions]
    common = fault_settings.shared_settings(settings)
    if system_retentions:
        yield heading(": ".join(filter(None, (part.title, fault_settings.words(common)))), opens=True)
    for retention, of_case in zip(system_retentions, settings, strict=True):
        differing = fault_settings.words(fault_settings.without(of_case, common))
        yield Row(
            (
                Cell(retention.label or part.title),
                Cell(differing or numbers.NOTHING),
                _cell(retention.new),
                *(_cell(retention.groups.get(group)) for group in groups),
                Cell(numbers.count(retention.segments)),
                Cell(bytes_text(retention.most)),
                Cell(bytes_text(retention.last)),
            )
        )


def _segments(retentions: Sequence[MessageRetention]) -> str:
    """Head the column of how many segments a partition had most, by what systems that have any call them."""
    systems = dict.fromkeys(
        retention.system for retention in retentions if not numbers.absent(retention.segments)
    )
    return " / ".join(f"{describe(system).segment}s" for system in systems) or "segments"


def _cell(messages: FoundMessages | None) -> Cell:
    if messages is None:
        return Cell(numbers.NOTHING, "quiet")
    return Cell(messages.text, "plain" if messages.complete else "strong")
