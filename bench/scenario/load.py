"""From a file to a checked scenario: profile, overrides, strict validation, errors that name line and key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bench.errors import ScenarioError
from bench.scenario import located, presentation_check
from bench.scenario.located import Located, Path_
from bench.scenario.presentation import KEYS
from bench.scenario.schema import PROFILES, Scenario
from bench.systems.registry import DESCRIPTIONS

IN_RUN_FOLDER = "scenario"
"""Stem of the copy that a run folder keeps."""

_Model = TypeVar("_Model", bound=BaseModel)
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
class Loaded:
    """A scenario as one profile has it, with the document it came from (for lines in later errors)."""

    file: Path
    profile: str
    scenario: Scenario
    document: Located
    overrides: tuple[str, ...] = ()

    def error(self, path: Path_, message: str) -> ScenarioError:
        """Build the error for something found wrong later, at `path` of the file."""
        return _error(self.document, path, message)

    def path_of(self, system: str, text: str) -> Path_:
        """Return the path of the first setting of `system` whose name stands in `text`, else the system's."""
        start = ("systems", system)
        for path in self.document.places:
            if path[:2] == start and len(path) > 3 and str(path[-1]) in text:
                return path
        return start

    def place_of(self, system: str, owner: str, name: str) -> Path_:
        """Return the path of an owner's setting, be it a variant's; where it would stand if it is nowhere."""
        start = ("systems", system)
        for path in self.document.places:
            if path[:2] == start and path[-1] == name and owner in path[2:-1]:
                return path
        return (*start, owner, name)


def load(file: Path, profile: str = "standard", overrides: Sequence[str] = ()) -> Loaded:
    """Read and check a scenario as `profile` has it, with `key=value` overrides laid on top.

    Raises ScenarioError naming file, line, key, what is allowed and the nearest name.
    """
    if profile not in PROFILES:
        message = (
            f"there is no profile {profile!r}; one of {', '.join(PROFILES)}{_nearest(profile, PROFILES)}"
        )
        raise ScenarioError(message)
    document = located.read(file)
    scenario = checked(document, Scenario)
    _check_presentation(document, scenario)
    over = scenario.profiles.get(profile, {})  # type: ignore[call-overload]
    document = located.overlaid(document, over, ("profiles", profile))
    for override in overrides:
        document = _overridden(document, override)
    scenario = checked(document, Scenario)
    if file.stem not in {scenario.name, IN_RUN_FOLDER}:
        raise _error(
            document, ("name",), f"name is {scenario.name!r}, the file's is {file.stem!r}; make them one"
        )
    return Loaded(file, profile, scenario, document, tuple(overrides))


def checked(document: Located, model: type[_Model]) -> _Model:
    """Check a document against a model. Raises ScenarioError, a sentence for each key that is wrong."""
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        raise ScenarioError("\n".join(_sentences(document, error.errors(), model))) from None


def _check_presentation(document: Located, scenario: Scenario) -> None:
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
        raise ScenarioError("\n".join(str(_error(document, path, message)) for path, message in mistakes))


def _sentences(document: Located, details: Sequence[ErrorDetails], model: type[BaseModel]) -> list[str]:
    """Write one sentence a place: a union's members each complain, and only what was meant is of use."""
    by_path: dict[Path_, list[ErrorDetails]] = {}
    for detail in details:
        by_path.setdefault(_document_path(document, detail["loc"]), []).append(detail)
    return [
        str(_error(document, path, _whole(path, path_details, model)))
        for path, path_details in by_path.items()
    ]


def _whole(path: Path_, details: Sequence[ErrorDetails], model: type[BaseModel]) -> str:
    """Join what the members of a union say of one value; a rule of our own says it better than they do."""
    rule_errors = [detail for detail in details if detail["type"] == "value_error"]
    if rule_errors or len(details) == 1:
        return _what((rule_errors or details)[0], path, model)
    allowed_inputs = " or ".join(
        dict.fromkeys(detail["msg"].removeprefix("Input should be ") for detail in details)
    )
    return f"{allowed_inputs}; it is {details[0]['input']!r}"


def _document_path(document: Located, loc: Path_) -> Path_:
    """Drop what pydantic adds to a location (names of union members) and YAML does not have."""
    path: Path_ = ()
    value: Any = document.value
    for part in loc:
        inside = (isinstance(value, Mapping) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        )
        if inside:
            path, value = (*path, part), value[part]
    return path if path or not loc else (loc[0],)


def _what(detail: ErrorDetails, path: Path_, model: type[BaseModel]) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        allowed = _names_at(path[:-1], model)
        return f"there is no such key{_nearest(str(path[-1]), allowed)}; allowed here: {', '.join(allowed)}"
    if kind == "model_type":
        return f"a mapping of keys is wanted here: {', '.join(_names_at(path, model))}; it is {detail['input']!r}"
    if kind == "missing":
        return f"the key {detail['loc'][-1]!r} is missing"
    input_text = (
        f"; it is {detail['input']!r}" if not isinstance(detail["input"], (Mapping, BaseModel)) else ""
    )
    return detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ") + input_text


def _names_at(path: Path_, model: type[BaseModel]) -> list[str]:
    """Return the keys that a model allows below `path`."""
    for part in path:
        field = model.model_fields.get(str(part))
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return list(model.model_fields)
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((inner_model for part in get_args(annotation) if (inner_model := _model_in(part))), None)


def _nearest(word: str, allowed: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, allowed, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _error(document: Located, path: Path_, message: str) -> ScenarioError:
    key = ".".join(str(part) for part in path) or "(top)"
    return ScenarioError(f"{document.place(path)}: {key}: {message}")


def _overridden(document: Located, override: str) -> Located:
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
    places: dict[Path_, str] = dict(document.places)
    for count in range(1, len(path) + 1):
        places["--set", *path[:count]] = f"--set {override}"
    return located.overlaid(Located(document.value, places), top, ("--set",))


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
