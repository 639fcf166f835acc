"""The settings of configurations by their property names, also those that a scenario asks for and does not sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.model import text
from bench.report import sweep
from bench.report.results import Results
from bench.systems.registry import describe

_NEVER = "never"


def settings(results: Results, part: sweep.Part, cases: Sequence[str]) -> dict[str, str]:
    """Return the settings that some of a system's cases share."""
    return shared_settings([_of_case(results, part, case) for case in cases])


def shared_settings(configurations: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the settings that all configurations have in common; none without a configuration."""
    first = configurations[0] if configurations else {}
    return {
        name: value
        for name, value in first.items()
        if all(configuration.get(name) == value for configuration in configurations)
    }


def without(settings: Mapping[str, str], common: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a configuration that it does not share with all others."""
    return {name: value for name, value in settings.items() if name not in common}


def words(named: Mapping[str, str]) -> str:
    """Write settings: `acks=all, replicas=3`; what is `never` done has no such value of the system's own."""
    return ", ".join(f"no {name}" if value == _NEVER else f"{name}={value}" for name, value in named.items())


def _of_case(results: Results, part: sweep.Part, case: str) -> dict[str, str]:
    row = part.cases[part.cases["case"] == case].iloc[0]
    swept = dict(zip(part.settings, part.values(row), strict=True))
    configuration: Mapping[str, Any] = next(
        (trial.case.configuration for trial in results.trial_records.values() if trial.case.name == case), {}
    )
    return naming_settings(part, configuration, swept)


def naming_settings(
    part: sweep.Part, configuration: Mapping[str, Any], swept: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings that name a configuration of a system: its own, then those that are swept."""
    base = {path[-1]: _at(configuration, path) for path in describe(part.system).naming_settings}
    unswept = {name: text(value) for name, value in base.items() if value is not None and name not in swept}
    return {**unswept, **swept}


def _at(document: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    for name in path:
        document = document.get(name, {})
    return document if document != {} else None
