"""The swept settings as a reader meets them: cases in a readable order, short labels, small multiples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from bench import numbers
from bench.report.results import Results
from bench.systems.registry import in_order, system_title

_PANELS, _LINES, _HEAD_CHARACTERS = 9, 5, 8


@dataclass(frozen=True, slots=True)
class Part:
    """One system's part of a run. `cases` is in the scenario's order and `trials` in the order run."""

    system: str
    settings: tuple[str, ...]
    cases: pd.DataFrame
    trials: pd.DataFrame

    @property
    def title(self) -> str:
        """The system's name as it begins a heading."""
        return system_title(self.system)

    @property
    def varied_settings(self) -> list[str]:
        """The swept settings that differ between its cases."""
        return [name for name in self.settings if len({*self.cases[name].map(numbers.text)}) > 1]

    def values(self, case: pd.Series[Any]) -> tuple[str, ...]:
        """A case's swept settings as text, in the scenario's order."""
        return tuple(numbers.text(case[name]) for name in self.settings)

    def label(self, case: pd.Series[Any]) -> str:
        """A case's name within its system, such as `replicas=4 acks=all`."""
        pairs = zip(self.settings, self.values(case), strict=True)
        return " ".join(f"{name}={value}" for name, value in pairs) or self.title

    def with_cases(self, names: Iterable[str]) -> Part:
        """Return the part with only those of its cases."""
        return replace(self, cases=self.cases[self.cases["case"].isin(set(names))])


@dataclass(frozen=True, slots=True)
class Panel:
    """One small multiple: the cases that differ in the last setting only. `lines` maps label to case."""

    system: str
    title: str
    lines: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Panels:
    """A system's small multiples, at most nine, and of how many they were chosen."""

    part: Part
    line_setting: str | None
    shown: tuple[Panel, ...]
    total: int
    lines_left_out: int


def parts(results: Results) -> list[Part]:
    """Split a run by system, in their order."""
    systems = in_order([*results.cases["system"], *results.trials["system"]])
    return [_part(results, system) for system in systems]


def natural(text: str) -> list[tuple[int, float, str]]:
    """A sort key that reads digits as numbers: 2 before 10, `3-2-2` before `10-2-2`, numbers before words."""
    pieces = re.findall(r"\d+(?:\.\d+)?|\D+", text)
    return [(0, float(piece), "") if piece[0].isdigit() else (1, 0.0, piece) for piece in pieces]


def panels(part: Part) -> Panels:
    """Group a system's cases by all settings but the last, whose values become lines."""
    groups: dict[tuple[str, ...], dict[str, str]] = {}
    for _, case in part.cases[part.cases["rounds"] > 0].iterrows():
        *head, last = part.values(case) or ("",)
        groups.setdefault(tuple(head), {})[last or part.title] = str(case["case"])
    all_panels = [
        Panel(part.system, _title(part, head), {label: lines[label] for label in evenly(list(lines), _LINES)})
        for head, lines in groups.items()
    ]
    dropped = max((len(lines) for lines in groups.values()), default=0) - _LINES
    setting = part.settings[-1] if part.settings else None
    return Panels(part, setting, tuple(evenly(all_panels, _PANELS)), len(all_panels), max(0, dropped))


def evenly(items: Sequence[Any], most: int) -> list[Any]:
    """At most `most` of the items, the first and the last among them, the others evenly between."""
    if len(items) <= most or most < 2:
        return list(items[:most])
    return [items[round(index * (len(items) - 1) / (most - 1))] for index in range(most)]


def wrap_name(name: str) -> list[str]:
    """Break a setting's name where its words end, into lines of about eight characters."""
    lines = [""]
    for word in re.findall(r"[^._-]+?(?=[A-Z][a-z])|[^._-]*[._-]|[^._-]+", name):
        if lines[-1] and len(lines[-1]) + len(word) > _HEAD_CHARACTERS:
            lines.append("")
        lines[-1] += word
    return lines


def _part(results: Results, system: str) -> Part:
    settings = tuple(results.plan.get("swept", {}).get(system, ()))
    column_names = tuple(name for name in settings if name in results.cases.columns)
    cases = results.cases[results.cases["system"] == system]
    place = {name: number for number, name in enumerate(results.plan.get("cases") or ())}
    keys = [
        (place.get(case["case"], len(place)), [natural(numbers.text(case[name])) for name in column_names])
        for _, case in cases.iterrows()
    ]
    order = sorted(range(len(cases)), key=keys.__getitem__)
    return Part(system, column_names, cases.iloc[order], results.trials[results.trials["system"] == system])


def _title(part: Part, head: tuple[str, ...]) -> str:
    return ", ".join(f"{name}={value}" for name, value in zip(part.settings, head, strict=False))
