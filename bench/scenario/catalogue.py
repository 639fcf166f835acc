"""The scenarios that come with the suite: files below scenarios/, found by their name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.errors import ScenarioError, did_you_mean
from bench.scenario.load import load
from bench.scenario.presentation import KEYS
from bench.scenario.scenario_files import names

__all__ = ["families", "find", "has_changed", "names"]

_DESCRIPTIVE_KEYS = {"title", "question", "source", "expectations", "profiles", *KEYS}


def families() -> dict[str, list[str]]:
    """Return the names of every family's scenarios by the family's name, which is its folder's."""
    names_by_family: dict[str, list[str]] = {}
    for name, file in names().items():
        names_by_family.setdefault(file.parent.name, []).append(name)
    return names_by_family


def has_changed(copy: Path, name: str, profile: str) -> bool:
    """Whether a run's copy of a scenario asks for something else, in its profile, than that scenario does today.

    What is told and claimed of it may differ. False where no scenario has this name any more; a copy that is no
    scenario by today's rules has changed.
    """
    today = names().get(name)
    try:
        return today is not None and _run_settings(copy, profile) != _run_settings(today, profile)
    except ScenarioError:
        return True


def _run_settings(file: Path, profile: str) -> dict[str, Any]:
    return load(file, profile).scenario.model_dump(exclude=_DESCRIPTIVE_KEYS)


def find(name: str) -> Path:
    """Return the file of a scenario given by name or by path. Raises ScenarioError with the nearest name."""
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        if path.is_file():
            return path
        message = f"{name}: there is no such file"
        raise ScenarioError(message)
    scenario_files = names()
    if name in scenario_files:
        return scenario_files[name]
    message = (
        f"there is no scenario {name!r}{did_you_mean(name, scenario_files)}; `bench list` shows them all"
    )
    raise ScenarioError(message)
