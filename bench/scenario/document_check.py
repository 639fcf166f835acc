"""A document checked against a model: errors name file, line, key, what is allowed and the nearest name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bench.errors import ScenarioError
from bench.scenario.located import Located, Path_

_Model = TypeVar("_Model", bound=BaseModel)


def checked(document: Located, model: type[_Model], at: Path_ = ()) -> _Model:
    """Check a document, or what stands `at` a path of it, against a model.

    Raises ScenarioError, a sentence for each key that is wrong.
    """
    value = document.value_at(at)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        sentences = _sentences(value, error.errors(), model)
        raise ScenarioError(
            "\n".join(str(error_at(document, (*at, *path), sentence)) for path, sentence in sentences)
        ) from None


def error_at(document: Located, path: Path_, message: str) -> ScenarioError:
    """Build the error for what is wrong at `path`: it names file, line and key."""
    key = ".".join(str(part) for part in path) or "(top)"
    return ScenarioError(f"{document.place(path)}: {key}: {message}")


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Return a question after the allowed name that a word is most like; empty where it is like none."""
    near = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _sentences(
    value: object, details: Sequence[ErrorDetails], model: type[BaseModel]
) -> Iterator[tuple[Path_, str]]:
    """Yield one sentence a place: a union's members each complain, and only what was meant is of use."""
    by_path: dict[Path_, list[ErrorDetails]] = {}
    for detail in details:
        by_path.setdefault(_document_path(value, detail["loc"]), []).append(detail)
    for path, path_details in by_path.items():
        yield path, _whole(path, path_details, model)


def _whole(path: Path_, details: Sequence[ErrorDetails], model: type[BaseModel]) -> str:
    """Join what the members of a union say of one value; a rule of our own says it better than they do."""
    rule_errors = [detail for detail in details if detail["type"] == "value_error"]
    if rule_errors or len(details) == 1:
        return _what((rule_errors or details)[0], path, model)
    allowed_inputs = " or ".join(
        dict.fromkeys(detail["msg"].removeprefix("Input should be ") for detail in details)
    )
    return f"{allowed_inputs}; it is {details[0]['input']!r}"


def _document_path(value: Any, loc: Path_) -> Path_:  # noqa: ANN401 - what YAML holds
    """Drop what pydantic adds to a location (names of union members) and YAML does not have."""
    path: Path_ = ()
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
        return f"there is no such key{nearest(str(path[-1]), allowed)}; allowed here: {', '.join(allowed)}"
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
