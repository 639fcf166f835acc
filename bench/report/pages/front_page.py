"""The first page of a report: what it shows, and what of it has room on one sheet of paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from bench.report import pdf, style, sweep, templates
from bench.report.answer.model import Answer, ExpectationFinding
from bench.report.cause import Cause
from bench.report.corrections import RunCorrections, corrections
from bench.report.figures import Drawing
from bench.report.results import Results
from bench.report.table import Table

T = TypeVar("T")

_OF_EVERY_CASE = frozenset({"throughput", "service", "response", "e2e"})
"""Figures that show every case of a run."""

MOST_WORDS = 250
_MOST_EXPECTATIONS, _MOST_CAUSES = 4, 3
_RESERVE = 28
"""The words of the figure's title and legend, and of how many expectations stand behind the page."""
_GRAVITY = ("bad", "warn", "neutral", "good")


@dataclass(frozen=True, slots=True)
class FirstPage:
    """What the first page shows, beside what has room on it; a report's other sections use its figures and looks, too.

    `lead` names its figure. `figures` are all of the report's, by name, each with its SVG as markup. `looks` are the
    colours, by system.
    """

    run: str
    date: str
    answer: Answer
    corrections: RunCorrections
    lead: str
    figures: Mapping[str, tuple[Drawing, Markup]]
    looks: Mapping[str, style.Look]
    is_fault_run: bool
    systems: Sequence[str]


@dataclass(frozen=True, slots=True)
class Room:
    """What has room on the page: causes, expectations, terms and a table, and how many of the first two have none.

    `prevented` are causes of which only the advice has room; they count as left, too. `whole_table` stands behind the
    page where `table` has only some of its rows.
    """

    causes: tuple[Cause, ...]
    causes_left: int
    prevented: tuple[Cause, ...]
    expectations: tuple[ExpectationFinding, ...]
    expectations_left: int
    glossary: tuple[tuple[str, str], ...]
    table: Table | None
    whole_table: Table | None = None


def first_page(
    results: Results, parts: Sequence[sweep.Part], drawings: Mapping[str, Drawing], answer: Answer
) -> FirstPage:
    """Return what the first page shows."""
    return FirstPage(
        run=str(results.manifest.get("run", results.run.name)),
        date=str(results.manifest.get("started_utc") or "")[:10],
        answer=answer,
        corrections=corrections(results.manifest, is_fault_run=results.is_fault_run),
        lead=_lead(answer, drawings),
        figures={name: (drawing, Markup(drawing.svg)) for name, drawing in drawings.items()},  # noqa: S704 - our own SVG
        looks={part.system: style.look(part.system) for part in parts},
        is_fault_run=results.is_fault_run,
        systems=[part.title for part in parts],
    )


def fit_to_sheet(front: FirstPage) -> tuple[Room, str]:
    """Return the most that one sheet holds, and the page that has it; the least there is where nothing fits.

    Raises ReportError.
    """
    candidates = [
        (room, templates.render("first_page.html.j2", templates.fields(front) | {"room": room}))
        for room in rooms(front.answer)
    ]
    return next(
        (candidate for candidate in candidates if len(pdf.laid_out(candidate[1]).pages) == 1), candidates[-1]
    )


def rooms(answer: Answer) -> list[Room]:
    """Return what may stand on the page, from the most to the least: the first that fits on paper is the page.

    Each has at most 250 words in sentences, where the answer without its causes has no more. Terms give way first,
    then expectations, rows of the table, and causes, of which the advice stays longest.
    """
    tables = [(answer.table, None), *([(answer.leading, answer.table)] if answer.leading else [])]
    candidates = [
        *(
            _room(answer, most, _MOST_CAUSES, *table)
            for table in tables
            for most in (_MOST_EXPECTATIONS, 1, 0)
        ),
        *(_room(answer, 0, most, *tables[-1]) for most in range(_MOST_CAUSES - 1, -1, -1)),
        _room(answer, 0, 0, *tables[-1], advised=False),
    ]
    return list(dict.fromkeys(candidates))


def _room(  # noqa: PLR0913 - all that a page may have
    answer: Answer,
    expectations: int,
    most_causes: int,
    table: Table | None,
    whole_table: Table | None,
    *,
    advised: bool = True,
) -> Room:
    """Return a page with so many expectations and causes at most; with fewer than all it has no terms.

    Expectations that did not hold go first, then undecided ones; terms go before a second expectation.
    """
    words = MOST_WORDS - _RESERVE - sum(map(_count, _texts(answer)))
    causes, words = _within(answer.causes[:most_causes], _cause_text, words)
    prevented, words = _within(
        _unsaid(answer.causes, causes) if advised else (), lambda cause: cause.advice, words
    )
    ordered = sorted(answer.expectations, key=_gravity)[:expectations]
    first, words = _within(ordered[:1], _expectation_text, words)
    glossary, words = _within(answer.glossary if expectations == _MOST_EXPECTATIONS else (), " ".join, words)
    more, _ = _within(ordered[1:] if first else (), _expectation_text, words)
    shown = (*first, *more)
    return Room(
        causes=causes,
        causes_left=len(answer.causes) - len(causes),
        prevented=prevented,
        expectations=shown,
        expectations_left=len(answer.expectations) - len(shown),
        glossary=glossary,
        table=table,
        whole_table=whole_table,
    )


def _within(items: Sequence[T], text: Callable[[T], str], words: int) -> tuple[tuple[T, ...], int]:
    """Return the first items that have room, and how many words are left."""
    shown: list[T] = []
    for item in items:
        if _count(text(item)) > words:
            break
        words -= _count(text(item))
        shown.append(item)
    return tuple(shown), words


def _expectation_text(entry: ExpectationFinding) -> str:
    return f"{entry.mark} {entry.verdict} {entry.system} {entry.claim} {entry.effect}"


def _cause_text(cause: Cause) -> str:
    return f"{cause.why} {cause.text} {cause.prevention}"


def _unsaid(causes: Sequence[Cause], shown: Sequence[Cause]) -> list[Cause]:
    """Return the causes with an advice of their own that those shown do not give."""
    shown_preventions = {"", *(cause.prevention for cause in shown)}
    by_prevention: dict[str, Cause] = {}
    for cause in causes:
        if cause.prevention not in shown_preventions:
            by_prevention.setdefault(cause.prevention, cause)
    return list(by_prevention.values())


def _gravity(entry: ExpectationFinding) -> int:
    return _GRAVITY.index(entry.tone) if entry.tone in _GRAVITY else len(_GRAVITY)


def _texts(answer: Answer) -> Iterator[str]:
    """Give the sentences of an answer: not its title, table and conditions, nor its causes, expectations and terms."""
    yield answer.question
    yield from (finding.full_text for finding in answer.findings)
    yield from (*answer.advice, *answer.notices, *answer.alarms)


def _count(text: str) -> int:
    return len(re.findall(r"\S+", text))


def _lead(answer: Answer, drawings: Mapping[str, Drawing]) -> str:
    """Name the figure of the first page: exactly what the answer compares, where that is not drawn over something."""
    return "answer" if "answer" in drawings and answer.figure in _OF_EVERY_CASE else answer.figure
