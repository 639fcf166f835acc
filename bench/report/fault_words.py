"""Times and counts of faults as people say them: two significant digits, and a range where trials differ."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench import numbers

_MINUTES_FROM_S = 600
_EXACT_TO = 1000
_ABOUT = 1.25
"""Counts whose largest is at most so many times the smallest are given as one, with "about"."""


def time(value_ns: float) -> str:
    """A length of time in two significant digits: 0.28 s, 5.8 s, 13 s, 81 s; in minutes from ten on."""
    seconds = value_ns / 1e9
    if seconds >= _MINUTES_FROM_S:
        return f"{seconds / 60:.0f} min"
    return f"{seconds_text(value_ns)} s"


def seconds_text(value_ns: float) -> str:
    """Seconds without the unit, in two significant digits."""
    seconds = value_ns / 1e9
    return (
        f"{seconds:.0f}"
        if abs(seconds) >= 9.95
        else f"{seconds:.1f}"
        if abs(seconds) >= 0.995
        else f"{seconds:.2g}"
    )


def times(low_ns: float, high_ns: float, *, brief: bool = False) -> str:
    """A range of times: "5.8 to 7.8 s", "at most 0.41 s", "12 s"; `brief` for a table: "0.14 to 0.41 s"."""
    low, high = time(low_ns), time(high_ns)
    if low == high:
        return high
    if high_ns < 1e9 and not brief:
        return f"at most {high}"
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def count(value: float) -> str:
    """A number of messages: exact below a thousand, then in two significant digits: 28,000."""
    return numbers.count(value if value < _EXACT_TO else float(f"{value:.2g}"))


def counts(values: Sequence[int]) -> str:
    """Numbers of messages of several trials: "about 28,000", "110 to 3,000", "up to 900" where some had none, "11"."""
    low, high = min(values), max(values)
    if low == high:
        return count(high)
    if low == 0:
        return f"up to {count(high)}"
    if high < _EXACT_TO:
        return f"{low} to {high}"
    if high <= _ABOUT * low:
        return f"about {count(median(values))}"
    return f"{numbers.count(float(f'{low:.2g}'))} to {count(high)}"
