"""The files below scenarios/: the scenarios, and the defaults that scenarios share."""

from __future__ import annotations

from pathlib import Path

from bench import places

DEFAULTS = "defaults"
"""The folder of files that are no scenarios: others extend them."""


def names() -> dict[str, Path]:
    """Return every scenario's file by its name."""
    return {
        file.stem: file for file in sorted(places.SCENARIOS.glob("*/*.yaml")) if file.parent.name != DEFAULTS
    }


def default_names() -> dict[str, Path]:
    """Return every file of shared defaults by its name, which has its folder's before it: defaults/faults."""
    return {f"{DEFAULTS}/{file.stem}": file for file in sorted((places.SCENARIOS / DEFAULTS).glob("*.yaml"))}
