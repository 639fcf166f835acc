"""Settings as Java's properties files have them: written, and read back from a live server."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from bench.errors import ClusterError
from bench.model import Node, Settings, text

_INTEGER, _NUMBER, _FLAG = ("int", "long", "short"), ("double", "float"), ("boolean",)


@cache
def property_types(file: Path) -> Mapping[str, str]:
    """Read a list of properties (clusters/*/*-properties.txt): the type of each by name, empty where nobody knows."""
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = (line.partition("\t") for line in lines if line and not line.startswith("#"))
    return {name: kind for name, _, kind in rows}


def unknown(
    owner_settings: Iterable[tuple[str, Settings, Collection[str]]],
) -> list[tuple[str, str, list[str]]]:
    """List (owner, property, nearest valid names) of settings that do not exist, of owners with their valid names."""
    return [
        (owner, name, get_close_matches(name, valid))
        for owner, settings, valid in owner_settings
        for name in settings
        if name not in valid
    ]


def wrong_values(owner: str, settings: Settings, kinds: Mapping[str, str]) -> Iterator[str]:
    """Say in full sentences which settings have values that are not of their property's type."""
    for name, value in settings.items():
        kind = kinds.get(name, "")
        valid_form = _valid_form(kind, text(value))
        if valid_form:
            yield f"{name} of the {owner} is {valid_form}, not {text(value)}."


def is_whole(value: object) -> bool:
    """Whether Java would read a value as a whole number."""
    return text(value).removeprefix("-").isdecimal()


def _valid_form(kind: str, value: str) -> str | None:
    """Say what a value of this type is; None where it is one."""
    if kind in _INTEGER:
        return None if is_whole(value) else "a whole number, without a unit"
    if kind in _NUMBER:
        return None if _is_number(value) else "a number, without a unit"
    if kind in _FLAG:
        return None if value.lower() in {"true", "false"} else "true or false"
    return None


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def live(
    nodes: Sequence[Node],
    scenario_settings: Settings,
    shown_names: Iterable[str],
    read: Callable[[Node], Mapping[str, str | None]],
) -> dict[str, str | None]:
    """Return what the first of some nodes has of what `scenario_settings` ask for, and of `shown_names` in any case.

    Raises ClusterError where any of them does not have what was asked for.
    """
    settings_by_node = {node.name: read(node) for node in nodes}
    for name, settings in settings_by_node.items():
        require(name, scenario_settings, settings)
    first = settings_by_node[nodes[0].name]
    return {name: first.get(name) for name in sorted({*scenario_settings, *shown_names})}


def require(owner: str, scenario_settings: Settings, live_settings: Mapping[str, object]) -> None:
    """Raise ClusterError when a live value is not the one asked for; secrets, which nobody tells, pass."""
    wrong = [
        f"{name} was asked to be {text(value)} and is {text(live_settings.get(name, 'not there'))}"
        for name, value in scenario_settings.items()
        if not (
            name in live_settings
            and (live_settings[name] is None or same(text(value), text(live_settings[name])))
        )
    ]
    if wrong:
        raise ClusterError(f"The live settings of {owner} are not the scenario's: {'; '.join(wrong)}.")


def same(value: str, other_value: str) -> bool:
    """Compare two values as Java reads them: 0.50 is 0.5, `a, b` is `a,b`, ON is on."""
    try:
        return float(value) == float(other_value)
    except ValueError:
        return _words(value) == _words(other_value)


def _words(value: str) -> list[str]:
    return [word.strip().lower() for word in value.split(",")]
