"""Numbers as people read them, in reports and in the sentences of the analysis. Times come in ns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

NOTHING = "\N{EN DASH}"
"""Stands where a number cannot be said."""

NEVER = "never"
"""Stands for the time of what did not come: longer than any that was measured."""

_NS_PER_MS = 1e6


def absent(value: object) -> bool:
    """Whether a cell of a results table is null."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or value != value  # noqa: PLR0124 - NA too


def text(value: object) -> str:
    """A cell of a results table as it stands there; NOTHING where it is null."""
    return NOTHING if absent(value) else str(value)


def endless(row: Any, name: str) -> bool:  # noqa: ANN401 - a mapping or a table's row: what has `get`
    """Whether a time of a row has no value though it could have: it falls among what never came.

    Its measure has values, or it has none at all for one of the reasons in `_none`.
    """
    measure, _, _ = name.partition("_")
    if not absent(row.get(name)):
        return False
    return not absent(row.get(f"{measure}_min_ns")) or _none(row, measure)


def _none(row: Any, measure: str) -> bool:  # noqa: ANN401 - as above
    """Whether all that a measure speaks of never came.

    No acknowledgement of what was sent; none, and sends that were due and never made; nothing at consumers of what was
    acknowledged.
    """
    acked, due_unsent = row.get("throughput_msgs_per_s"), row.get("due_unsent")
    match measure:
        case "service":
            return not absent(acked) and acked == 0
        case "response" | "queue":
            return not absent(due_unsent) and due_unsent > 0
        case "e2e":
            return row.get("e2e_messages") == 0 and not absent(acked) and acked > 0
        case _:
            return False


def count(value: float | None) -> str:
    """A whole number with thousands separators."""
    return NOTHING if value is None or absent(value) else f"{round(value):,}"


def rate(value: float | None) -> str:
    """Messages per second: whole from 100 on, three significant digits below."""
    if value is None or absent(value):
        return NOTHING
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rates(low: float, high: float) -> str:
    """An interval of messages per second; its end is infinite where no rate was too high."""
    return f"{rate(low)} to {rate(high)}" if high < math.inf else f"at least {rate(low)}"


def ms(value_ns: float | None) -> str:
    """Nanoseconds as ms, without the unit, in three significant digits: 0.052, 2.10, 12,129."""
    if value_ns is None or absent(value_ns):
        return NOTHING
    value = value_ns / _NS_PER_MS
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"


def duration(value_ns: float | None) -> str:
    """One time with its own unit, three significant digits: 61 µs, 1.42 ms, 2.5 s; below 0 where a step came first."""
    if value_ns is None or absent(value_ns):
        return NOTHING
    if math.isinf(value_ns):
        return NEVER
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(value_ns) >= size:
            return f"{_three(value_ns / size)} {unit}"
    return f"{value_ns:.0f} ns"


def seconds(value_s: float | None) -> str:
    """A length of time in s, in minutes from two minutes on, in hours from one and a half on."""
    if value_s is None or absent(value_s):
        return NOTHING
    if value_s >= 5400:
        return f"{value_s / 3600:.1f} h"
    return f"{value_s / 60:.0f} min" if value_s >= 120 else f"{value_s:.3g} s"


def size(value_bytes: float | None) -> str:
    """A memory or message size in binary units."""
    if value_bytes is None or absent(value_bytes):
        return NOTHING
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value_bytes >= scale:
            return f"{_three(value_bytes / scale)} {unit}"
    return f"{value_bytes:,.0f} bytes"


def percent(value: float | None, digits: int = 0) -> str:
    """A share as a percentage, whole or with so many digits behind the point: 38 %."""
    return NOTHING if value is None or absent(value) else f"{value * 100:.{digits}f} %"


def share(value: float | None) -> str:
    """A percentage that does not tell a little as nothing: 0 %, 0.02 %, 3.1 %, 38 %."""
    if value is None or absent(value):
        return NOTHING
    return percent(value) if value >= 0.1 else f"{float(f'{value * 100:.2g}'):g} %"


def ratio(value: float | None) -> str:
    """How many times as much: 2.1x."""
    return NOTHING if value is None or absent(value) else f"{_three(value)}\N{MULTIPLICATION SIGN}"


def factor(value: float, like: float | None = None) -> str:
    """How many times as much, without a sign: 1.04, 2.8, 12; in as many digits as `like`, the ratio of an interval."""
    of = value if like is None else like
    return f"{value:,.{2 if of < 2 else 1 if of < 10 else 0}f}"


def between(low: float | None, high: float | None) -> str:
    """From which ratio to which an interval reaches: 1.9x - 2.1x."""
    if low is None or high is None:
        return NOTHING
    return f"{ratio(low)} {NOTHING} {ratio(high)}"


def sentence(text: str) -> str:
    """The same, as it begins a line."""
    return text[:1].upper() + text[1:]


def cut(text: str, most: int) -> str:
    """The text, cut off with an ellipsis where it has more characters than `most`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def spread(low: float, high: float) -> float:
    """How many times the low the high is; infinite where the low is 0."""
    return high / low if low > 0 else math.inf


def side_by_side(words: Iterable[object]) -> str:
    """Words of several in their order, a dash for none; one word where they agree."""
    return " / ".join(dict.fromkeys(str(word or NOTHING) for word in words))


def tally(words: Iterable[str]) -> str:
    """One word where they agree, else each with its number, the most frequent first; empty without any."""
    counts = Counter(words)
    if len(counts) <= 1:
        return next(iter(counts), "")
    return ", ".join(f"{word} {count}" for word, count in counts.most_common())


def about(value: float) -> str:
    """A count that a reader can remember: 320,000, 2.6 million."""
    return f"{_three(round(value / 1e6, 1))} million" if value >= 1e6 else f"{value:,.0f}"


def plural(number: int, noun: str) -> str:
    """1 trial, 2 trials, 1,200 trials."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _three(value: float) -> str:
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
