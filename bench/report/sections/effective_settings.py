"""Settings as read back from live clusters and clients: what a system's cases share, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bench import numbers
from bench.report import sweep
from bench.report.results import Json, Results, trial_document_path
from bench.report.sections.section import ReportInput, Section

_MOST, _MOST_VALUES, _LONGEST = 60, 6, 60

_WORDS = {"None": "not set", "True": "true", "False": "false"}

_Values: TypeAlias = dict[str, dict[str, set[str]]]
"""Values by setting and case: more than one where the trials of a case differ."""


@dataclass(frozen=True, slots=True)
class OwnerSettings:
    """One owner of settings (topic, broker, producer …). `more` counts the settings not printed."""

    owner: str
    same: tuple[tuple[str, str], ...]
    differing: tuple[tuple[str, str], ...]
    more: int


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """A system's settings by owner, and a trial whose file holds them whole."""

    system: str
    title: str
    groups: tuple[OwnerSettings, ...]
    example: str


def effective_settings(results: Results, parts: Sequence[sweep.Part]) -> list[EffectiveSettings]:
    """What was read back, by system; systems that told nothing are left out."""
    return [system_settings for part in parts if (system_settings := _of(results, part))]


def _of(results: Results, part: sweep.Part) -> EffectiveSettings | None:
    trials = {
        number: trial
        for number, trial in results.trial_records.items()
        if trial.case.system == part.system and trial.effective
    }
    owners: dict[str, _Values] = {}
    for trial in trials.values():
        for path, value in _flat(trial.effective or {}):
            owner, name = _owner_and_name(path)
            owners.setdefault(owner, {}).setdefault(name, {}).setdefault(trial.case.name, set()).add(value)
    groups = tuple(_group(owner, settings) for owner, settings in owners.items())
    return (
        EffectiveSettings(part.system, part.title, groups, trial_document_path(results.run, min(trials)))
        if groups
        else None
    )


def _flat(node: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, value in node.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, (*path, str(name)))
        elif not isinstance(value, Mapping):
            yield (*path, str(name)), _short(value)


def _short(value: object) -> str:
    if isinstance(value, list):
        plain = not any(isinstance(entry, Mapping | list) for entry in value)
        text = ", ".join(map(str, value)) if plain else f"a list of {len(value)}"
    else:
        text = _WORDS[str(value)] if value is None or isinstance(value, bool) else str(value)
    return numbers.cut(text, _LONGEST)


def _owner_and_name(path: tuple[str, ...]) -> tuple[str, str]:
    """Whose setting it is, and its name: roles stand under their own name."""
    depth = 2 if path[0] == "roles" and len(path) > 2 else 1
    return path[depth - 1], ".".join(path[depth:]) or path[-1]


def _group(owner: str, settings: _Values) -> OwnerSettings:
    same, differing = [], []
    for name in sorted(settings):
        distinct = set().union(*settings[name].values())
        if len(distinct) == 1:
            same.append((name, distinct.pop()))
        else:
            differing.append((name, _differing_values(settings[name], distinct)))
    more = max(0, len(same) - _MOST) + max(0, len(differing) - _MOST)
    return OwnerSettings(owner, tuple(same[:_MOST]), tuple(differing[:_MOST]), more)


def _differing_values(by_case: Mapping[str, set[str]], distinct: set[str]) -> str:
    if any(len(values) > 1 for values in by_case.values()):
        return f"{len(distinct)} values, by trial"
    if len(distinct) > _MOST_VALUES:
        return f"{len(distinct)} values, by case"
    return f"{', '.join(sorted(distinct, key=sweep.natural))} by case"


def _content(report: ReportInput) -> list[EffectiveSettings]:
    return effective_settings(report.results, report.parts)


SECTION = Section("settings", "Settings read back", _content)
