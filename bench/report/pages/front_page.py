"""What has room on the first page of a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.report.answer.model import Answer, ExpectationFinding

T = TypeVar("T")

MOST_WORDS = 250
_MOST_EXPECTATIONS = 4
_RESERVE = 3
"""The words that tell how many expectations stand below."""
_GRAVITY = ("bad", "warn", "neutral", "good")


@dataclass(frozen=True, slots=True)
class Room:
    """The expectations and terms that have room on the page, and how many expectations have none."""

    expectations: tuple[ExpectationFinding, ...]
    expectations_left: int
    glossary: tuple[tuple[str, str], ...]


def room(answer: Answer) -> Room:
    """Return what has room, so that the page has at most 250 words in sentences: of expectations one, and at most four.

    Where the answer has more words itself, one expectation is shown all the same. Those that did not hold go first,
    then the undecided ones; terms go before a second expectation.
    """
    words = MOST_WORDS - _RESERVE - sum(map(_count, _texts(answer)))
    ordered = sorted(answer.expectations, key=_gravity)[:_MOST_EXPECTATIONS]
    words -= sum(_count(_claimed(entry)) for entry in ordered[:1])
    glossary, words = _within(answer.glossary, " ".join, words)
    more, _ = _within(ordered[1:], _claimed, words)
    shown = (*ordered[:1], *more)
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


def _claimed(entry: ExpectationFinding) -> str:
    return f"{entry.mark} {entry.verdict} {entry.system} {entry.claim} {entry.effect}"


def _gravity(entry: ExpectationFinding) -> int:
    return _GRAVITY.index(entry.tone) if entry.tone in _GRAVITY else len(_GRAVITY)


def _texts(answer: Answer) -> Iterator[str]:
    """Give the sentences of an answer: not its title, table and conditions, nor its expectations and terms."""
    yield answer.question
    yield from (finding.text for finding in answer.findings)
    yield from (*answer.advice, *answer.notices, *answer.alarms)
    for cause in answer.causes:
        yield f"Why {cause.text} {cause.prevention} {cause.source}"


def _count(text: str) -> int:
    return len(re.findall(r"\S+", text))
