"""What has room on the first page of a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.report.answer.model import Answer, ExpectationFinding
from bench.report.table import Table

T = TypeVar("T")

MOST_WORDS = 250
_MOST_EXPECTATIONS = 4
_RESERVE = 12
"""Words of the page that no answer has: systems, date, and how many expectations stand below."""
_GRAVITY = ("bad", "warn", "neutral", "good")


@dataclass(frozen=True, slots=True)
class Room:
    """The expectations and terms that have room on the page, and how many expectations have none."""

    expectations: tuple[ExpectationFinding, ...]
    expectations_left: int
    glossary: tuple[tuple[str, str], ...]


def room(answer: Answer) -> Room:
    """Return what has room, so that the page has at most 250 words: one expectation in any case, and at most four.

    Those that did not hold go first, then the undecided ones; terms go before a second expectation.
    """
    words = MOST_WORDS - _RESERVE - sum(map(_count, _texts(answer)))
    first, *others = [*sorted(answer.expectations, key=_gravity)] or [None]
    words -= _length(first) if first else 0
    glossary, words = _within(answer.glossary, " ".join, words)
    more, _ = _within(others[: _MOST_EXPECTATIONS - 1], _claimed, words)
    shown = (first, *more) if first else ()
    return Room(shown, len(answer.expectations) - len(shown), glossary)


def _within(items: Sequence[T], text: Callable[[T], str], words: int) -> tuple[tuple[T, ...], int]:
    """Return the first items that have room, and how many words are left."""
    shown: list[T] = []
    for item in items:
        if _count(text(item)) > words:
            break
        words -= _count(text(item))
        shown.append(item)
    return tuple(shown), words


def _length(entry: ExpectationFinding) -> int:
    return _count(_claimed(entry))


def _claimed(entry: ExpectationFinding) -> str:
    return f"{entry.mark} {entry.verdict} {entry.system} {entry.claim} {entry.effect}"


def _gravity(entry: ExpectationFinding) -> int:
    return _GRAVITY.index(entry.tone) if entry.tone in _GRAVITY else len(_GRAVITY)


def _texts(answer: Answer) -> Iterator[str]:
    """Give every text of an answer but its expectations and terms."""
    yield from (answer.title, answer.question, answer.conditions)
    yield from (finding.text for finding in answer.findings)
    yield from (*answer.advice, *answer.notices, *answer.alarms)
    for cause in answer.causes:
        yield f"Why {cause.text} {cause.prevention} {cause.source}"
    if answer.table:
        yield from _cells(answer.table)


def _cells(table: Table) -> Iterator[str]:
    columns = table.columns
    heads: Sequence[str] = [
        *dict.fromkeys(column.group for column in columns),
        *(column.head for column in columns),
    ]
    yield from heads
    for row in table.rows:
        yield from (cell.text for cell in row.cells)


def _count(text: str) -> int:
    return len(re.findall(r"\S+", text))
