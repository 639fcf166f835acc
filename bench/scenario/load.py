"""From a file to a checked scenario: profile, overrides, strict validation, errors that name line and key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.errors import ScenarioError, did_you_mean
from bench.scenario import delivery_expectation, inheritance, presentation_check, yaml_source
from bench.scenario.document_check import check_document, error_at
from bench.scenario.presentation import KEYS
from bench.scenario.schema import PROFILES, Scenario, ScenarioFile
from bench.scenario.yaml_source import KeyPath, YamlDocument
from bench.systems.registry import DESCRIPTIONS

_TEXT_WIDTH = 100
IN_RUN_FOLDER = "scenario"
"""Stem of the copy that a run folder keeps."""

_FREE_FORM = {
    *(
        "topic",
        "producer",
        "consumer",
        "processor",
        "consumer_group",
    ),
    *(role.name for description in DESCRIPTIONS.values() for role in description.roles),
    *(key for description in DESCRIPTIONS.values() for key in description.other_settings),
}


@dataclass(frozen=True, slots=True)
class LoadedScenario:
    """A scenario as one profile has it, with the document it came from (for lines in later errors)."""

    file: Path
    profile: str
    scenario: Scenario
    document: YamlDocument
    overrides: tuple[str, ...] = ()

    def error(self, path: KeyPath, message: str) -> ScenarioError:
        """Build the error for something found wrong later, at `path` of the file."""
        return error_at(self.document, path, message)

    def path_of(self, system: str, text: str) -> KeyPath:
        """Return the path of the first setting of `system` whose name stands in `text`, else the system's."""
        start = ("systems", system)
        for path in self.document.places:
            if path[:2] == start and len(path) > 3 and str(path[-1]) in text:
                return path
        return start

    def place_of(self, system: str, owner: str, name: str) -> KeyPath:
        """Return the path of an owner's setting, be it a variant's; where it would stand if it is nowhere."""
        start = ("systems", system)
        for path in self.document.places:
            if path[:2] == start and path[-1] == name and owner in path[2:-1]:
                return path
        return (*start, owner, name)


def load(file: Path, profile: str = "standard", overrides: Sequence[str] = ()) -> LoadedScenario:
    """Read and check a scenario as `profile` has it, with `key=value` overrides laid on top.

    Raises ScenarioError naming file, line, key, what is allowed and the nearest name.
    """
    if profile not in PROFILES:
        message = (
            f"there is no profile {profile!r}; one of {', '.join(PROFILES)}{did_you_mean(profile, PROFILES)}"
        )
        raise ScenarioError(message)
    document = resolve_document(file)
    scenario: Scenario = check_document(document, ScenarioFile)
    _check_presentation(document, scenario)
    over = scenario.profiles.get(profile, {})  # type: ignore[call-overload]
    document = yaml_source.overlaid(document, over, ("profiles", profile))
    for override in overrides:
        document = _overridden(document, override)
    document = delivery_expectation.written_out(document)
    scenario = check_document(document, Scenario)
    if file.stem not in {scenario.name, IN_RUN_FOLDER}:
        raise error_at(
            document, ("name",), f"name is {scenario.name!r}, the file's is {file.stem!r}; make them one"
        )
    return LoadedScenario(file, profile, scenario, document, tuple(overrides))


def resolve_document(file: Path) -> YamlDocument:
    """Read a scenario file with what it extends; each short form of an expectation is written out.

    Raises ScenarioError.
    """
    return delivery_expectation.written_out(inheritance.read(file))


def standalone_text(file: Path) -> str:
    """Return a scenario file's text, which needs no other file: resolved where it extends one or has short forms."""
    document = resolve_document(file)
    if yaml_source.read(file).value == document.value:
        return file.read_text(encoding="utf-8")
    text: str = yaml.safe_dump(document.value, sort_keys=False, allow_unicode=True, width=_TEXT_WIDTH)
    return f"# {file.name} with what it extends.\n{text}"


def _check_presentation(document: YamlDocument, scenario: Scenario) -> None:
    """Refuse presentation that names what the sweep does not have, or that only one profile would have."""
    wrong = [
        (
            ("profiles", profile, key),
            "how results are presented is the same in all profiles: put it at the top",
        )
        for profile, over in scenario.profiles.items()
        for key in KEYS
        if key in over
    ]
    if mistakes := [*wrong, *presentation_check.mistakes(scenario)]:
        raise ScenarioError("\n".join(str(error_at(document, path, message)) for path, message in mistakes))


def _overridden(document: YamlDocument, override: str) -> YamlDocument:
    """Lay one `key=value` over the document; names that hold dots of their own are understood."""
    key, equals, text = override.partition("=")
    if not equals or not key:
        message = f"--set {override}: write --set key=value, for example --set load.producers=10"
        raise ScenarioError(message)
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        message = f"--set {override}: the value is not YAML: {error}"
        raise ScenarioError(message) from error
    path = _split(document.value, key.split("."))
    if path[0] == "profiles":
        message = (
            f"--set {override}: the profile is already chosen; set the key itself, without profiles.NAME."
        )
        raise ScenarioError(message)
    if path[0] in KEYS:
        message = f"--set {override}: it says how results are presented, not what is run: change the file"
        raise ScenarioError(message)
    top: Any = value
    for part in reversed(path):
        top = {part: top}
    places: dict[KeyPath, str] = dict(document.places)
    for count in range(1, len(path) + 1):
        places["--set", *path[:count]] = f"--set {override}"
    return yaml_source.overlaid(YamlDocument(document.value, places), top, ("--set",))


def _split(value: object, parts: list[str], above: str = "") -> list[str]:
    """Split a dotted key by what is there, longest name first; below an owner the rest is one name."""
    if not parts:
        return []
    if isinstance(value, Mapping):
        for count in range(len(parts), 0, -1):
            name = ".".join(parts[:count])
            if name in value:
                return [name, *_split(value[name], parts[count:], name)]
    if above in _FREE_FORM:
        return [".".join(parts)]
    return [parts[0], *_split(None, parts[1:], parts[0])]
