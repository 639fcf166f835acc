"""Words that readers had to translate, and the prose of pages in which they are looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import yaml

from bench.report import results
from bench.run.publishing import PUBLISHED

NOT = (
    *("told", "said", "meant", "kept", "worth", "of it served", "unheard", "crowded", "as is", "alike"),
    *("the dearest", "the cheapest", "twice", "disordered", "what became of", "by itself", "it came"),
)
_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(NOT)})(?![\w-])", re.IGNORECASE)
"""Whole words; a hyphen makes one part of a name (`broker-kill-unheard`)."""
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|\S+=as is|no difference can be told", re.IGNORECASE)
"""Names, quotations, the one setting whose value is such a word, and the words for a comparison without a winner."""
_UNSEEN = {"script", "style", "code", "pre", "svg"}


class Prose(HTMLParser):
    """The visible text of a page, one entry a run of text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._unseen = 0
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen += tag in _UNSEEN

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.texts.append(" ".join(data.split()))


def found_in(texts: Iterator[str] | list[str]) -> list[str]:
    """The words of the list that texts hold, each with what stands around it."""
    return [
        f"{word[0]}: …{plain[max(0, word.start() - 30) : word.end() + 30]}…"
        for text in texts
        if (plain := _QUOTED.sub("", text)) != "as is"  # the value of the setting, alone in its cell
        for word in _WORD.finditer(plain)
    ]


def scalars(node: object) -> Iterator[str]:
    """All texts of a YAML document that are no keys."""
    match node:
        case dict():
            for value in node.values():
                yield from scalars(value)
        case list() | tuple():
            for value in node:
                yield from scalars(value)
        case str():
            yield node


def own_words(page: str, *names: str) -> list[str]:
    """The prose of a page without the texts that published runs recorded when they were made."""
    recorded = {text for name in names for text in recorded_texts(PUBLISHED / name) if _WORD.search(text)}
    return [_without(text, recorded) for text in Prose(page).texts]


def recorded_texts(run: Path) -> Iterator[str]:
    """The texts of a run's scenario, of its judged expectations, and of what limited its trials."""
    documents = [
        yaml.safe_load((run / "scenario.yaml").read_text(encoding="utf-8")),
        results.expectations(run),
        list(results.table(run, "trials")["bottleneck_evidence"].dropna()),
    ]
    for text in scalars(documents):
        yield from (" ".join(part.split()) for part in text.split("`"))  # a name is an element of its own


def _without(text: str, recorded: set[str]) -> str:
    for quotation in sorted(recorded, key=len, reverse=True):
        text = text.replace(quotation, "")
    return text
