"""The messages that break a promise, or nearly: where each lies, and what was read before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bench import numbers
from bench.report import sweep
from bench.report.results import Results
from bench.report.sections import delivery, promise_coverage
from bench.report.table import Cell, Column, Row, Table, number_cell, without_empty

LISTED = 50
_PLACE = ("ledger", "entry", "batch_index")
_GRAVITY = (
    "lost",
    "foreign",
    "duplicate",
    "out_of_order",
    "fail_present",
    "unknown_present",
)
_OFFENCES = tuple("duplicates" if kind == "duplicate" else kind for kind in _GRAVITY)


def table(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """The first fifty rows of offending messages of each kind, the gravest first; None where there are none.

    Those of a kind that follow one another, lost or there twice, share a row, with the places of the first of them.
    """
    grave = results.messages["kind"].map({kind: place for place, kind in enumerate(_GRAVITY)})
    if not grave.notna().any():
        return None
    ordered = _sort_messages(_as_now(results.messages).assign(grave=grave).dropna(subset="grave"))
    labels = delivery.labels(results, parts)
    rounds = dict(zip(results.trials["trial"], results.trials["round"], strict=True))
    cases = dict(zip(results.trials["trial"], results.trials["case"], strict=True))
    promised = {
        case: promise_coverage.breaks_promise(results, case)
        for case in {cases[trial] for trial in ordered["trial"]}
    }
    columns = (
        Column("kind", "name"),
        Column("round"),
        Column("case", "name"),
        Column("producer"),
        Column("partition"),
        Column("position", "name", "read before it"),
        Column("sequence", "number", "read before it"),
        Column("position", "name", "the message"),
        Column("sequence", "number", "the message"),
        Column("messages"),
        Column("first copy at", "name"),
        Column("error", "text"),
    )
    shown = _spans(ordered).groupby("kind", sort=False).head(LISTED)
    rows = tuple(
        _message(
            message,
            labels.get(message["trial"], numbers.NOTHING),
            rounds[message["trial"]] + 1,
            promised=promised[cases[message["trial"]]],
        )
        for _, message in shown.iterrows()
    )
    return without_empty(Table("Offending messages", columns, rows))


def _as_now(messages: pd.DataFrame) -> pd.DataFrame:
    """Older results have the copy before a duplicate where now is what was read before it."""
    if "first_entry" in messages:
        return messages
    copies = messages["kind"] == "duplicate"
    first = {f"first_{name}": messages[f"previous_{name}"].where(copies) for name in _PLACE}
    previous_columns = {
        f"previous_{name}": messages[f"previous_{name}"].mask(copies) for name in ("sequence", *_PLACE)
    }
    return messages.assign(**first, **previous_columns)


def _sort_messages(messages: pd.DataFrame) -> pd.DataFrame:
    """Sort by kind, the gravest first, by trial and producer; copies as they lie in the log, the others as sent."""
    copies = messages["kind"] == "duplicate"
    place = {f"at_{name}": messages[name].where(copies, 0) for name in ("partition", *_PLACE)}
    return messages.assign(**place).sort_values(["grave", "trial", "producer", *place, "sequence"])


def _spans(ordered: pd.DataFrame) -> pd.DataFrame:
    """Put messages of a kind that follow one another into one row: the last one's sequence in `until`, and `many`.

    Lost ones by their sequence, copies where each was read right after the other.
    """
    whose, previous_sequence = ["kind", "trial", "producer", "partition"], ordered["sequence"].shift()
    same = (ordered[whose] == ordered[whose].shift()).all(axis="columns")
    lost = (ordered["kind"] == "lost") & (ordered["sequence"] == previous_sequence + 1)
    copies = (ordered["kind"] == "duplicate") & (ordered["previous_sequence"] == previous_sequence)
    follows = same & (lost | copies)
    sequences = ordered.groupby((~follows).cumsum())["sequence"]
    return ordered.assign(until=sequences.transform("last"), many=sequences.transform("size"))[~follows]


def count(results: Results) -> int:
    """Count all offending messages of the run; of each trial and kind the table lists so many at most."""
    return int(results.trials[[name for name in _OFFENCES if name in results.trials]].sum().sum())


def _message(message: pd.Series[Any], label: str, turn: int, *, promised: bool) -> Row:
    """Return a message's row. Red is a lost one that a promise covers, and one that nobody sent."""
    kind, error = str(message["kind"]), message.get("error")
    tone = "bad" if kind == "foreign" or (kind == "lost" and promised) else "plain"
    return Row(
        (
            Cell(kind.replace("_", " "), tone),
            Cell(str(turn)),
            Cell(label),
            Cell(_identity(message["producer"])),
            Cell(_identity(message["partition"])),
            Cell(_position(message, "previous_")),
            Cell(_identity(message.get("previous_sequence"))),
            Cell(_position(message, "")),
            Cell(_sequences(message)),
            number_cell(message["many"]),
            Cell(_position(message, "first_")),
            Cell(numbers.text(error)),
        )
    )


def _sequences(message: pd.Series[Any]) -> str:
    """The sequence of a message; of several that follow one another the first one's and the last one's."""
    first = _identity(message["sequence"])
    return f"{first} to {_identity(message['until'])}" if message["many"] > 1 else first


def _position(message: pd.Series[Any], which: str) -> str:
    places = [message.get(f"{which}{name}") for name in _PLACE]
    return ":".join(_identity(place) for place in places if not numbers.absent(place)) or numbers.NOTHING


def _identity(value: float | None) -> str:
    """A number that names something: without separators, so that it can be searched for."""
    return numbers.NOTHING if value is None or numbers.absent(value) else str(int(value))
