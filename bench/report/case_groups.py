"""Configurations of one system under one name: those with the same outcome, named by what only they have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import Any, TypeVar

import pandas as pd

from bench import numbers
from bench.report import sweep
from bench.report.outage import Outage
from bench.report.presentation import Labels

_SHORT_NS = 1e9
"""Outages below a second count as one another's like."""
_APART = 1.1
_RATIO = 1.5
"""Medians, or both ends, within this ratio do, too."""
T = TypeVar("T")


def name(labels: Labels, part: sweep.Part, cases: Collection[str]) -> str:
    """Name some of a system's cases by the settings that they share and no other case has; empty for all of them."""
    inside = part.cases["case"].isin(set(cases))
    if inside.all():
        return ""
    varying = part.varied_settings
    for count in range(1, len(varying) + 1):
        for settings in combinations(varying, count):
            inside_labels, outside_labels = (
                {
                    labels.label(part.system, dict(zip(settings, values, strict=True)))
                    for values in _values(part.cases[rows], settings)
                }
                for rows in (inside, ~inside)
            )
            if len(inside_labels) == 1 and not inside_labels & outside_labels:
                return inside_labels.pop()
    case_settings = [dict(zip(varying, values, strict=True)) for values in _rows(part.cases, varying)]
    distinct = dict(zip(part.cases["case"], labels.distinct(part.system, case_settings), strict=True))
    names = [distinct[case] for case in cases]
    return (", or " if any("," in case_name for case_name in names) else " or ").join(names)


def group_items(items: Sequence[T], same: Callable[[T, T], bool]) -> list[list[T]]:
    """Put each item to the first group whose first item it is the same as."""
    groups: list[list[T]] = []
    for item in items:
        for group in groups:
            if same(group[0], item):
                group.append(item)
                break
        else:
            groups.append([item])
    return groups


def same_outage(first: Outage | None, second: Outage | None) -> bool:
    """Whether two configurations had outages of about the same length, without a gap between their ranges."""
    if first is None or second is None:
        return first is second
    if max(first.high_ns, second.high_ns) < _SHORT_NS:
        return True
    if not (first.endless and second.endless) and (_above(first, second) or _above(second, first)):
        return False
    ends = _near(first.low_ns, second.low_ns) and _near(first.high_ns, second.high_ns)
    return first.endless == second.endless and (ends or _near(first.median_ns, second.median_ns))


def _above(first: Outage, second: Outage) -> bool:
    """Whether the whole range of one lies above that of another, by a tenth or more."""
    return first.low_ns > _APART * second.high_ns


def _near(one_ns: float, other_ns: float) -> bool:
    return max(one_ns, other_ns) <= _RATIO * min(one_ns, other_ns)


def _texts(cases: pd.DataFrame, setting: str) -> pd.Series[Any]:
    return cases[setting].map(numbers.text)


def _values(cases: pd.DataFrame, settings: Sequence[str]) -> set[tuple[str, ...]]:
    return set(_rows(cases, settings))


def _rows(cases: pd.DataFrame, settings: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(*(_texts(cases, setting) for setting in settings), strict=True))
