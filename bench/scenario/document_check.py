"""A document checked against a model: errors name file, line, key, what is allowed and the nearest name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bench.errors import ScenarioError, did_you_mean
from bench.scenario.yaml_source import KeyPath, YamlDocument

_Model = TypeVar("_Model", bound=BaseModel)


def check_document(document: YamlDocument, model: type[_Model], at: KeyPath = ()) -> _Model:
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


def error_at(document: YamlDocument, path: KeyPath, message: str) -> ScenarioError:
    """Build the error for what is wrong at `path`: it names file, line and key."""
    key = ".".join(str(part) for part in path) or "(top)"
    return ScenarioError(f"{document.place(path)}: {key}: {message}")


def _sentences(
    value: object, details: Sequence[ErrorDetails], model: type[BaseModel]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield one sentence a place: a union's members each complain, and only what was meant is of use."""
    by_path: dict[KeyPath, list[ErrorDetails]] = {}
    for detail in details:
        by_path.setdefault(_document_path(value, detail["loc"]), []).append(detail)
    for path, path_details in by_path.items():
        yield path, _value_sentence(path, path_details, model)


def _value_sentence(path: KeyPath, details: Sequence[ErrorDetails], model: type[BaseModel]) -> str:
    """Join what the members of a union say of one value; a rule of our own says it better than they do."""
    rule_errors = [detail for detail in details if detail["type"] == "value_error"]
    if rule_errors or len(details) == 1:
        return _error_sentence((rule_errors or details)[0], path, model)
    allowed_inputs = " or ".join(
        dict.fromkeys(detail["msg"].removeprefix("Input should be ") for detail in details)
    )
    return f"{allowed_inputs}; it is {details[0]['input']!r}"


def _document_path(value: Any, loc: KeyPath) -> KeyPath:  # noqa: ANN401 - what YAML holds
    """Drop what pydantic adds to a location (names of union members) and YAML does not have."""
    path: KeyPath = ()
    for part in loc:
        inside = (isinstance(value, Mapping) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        )
        if inside:
            path, value = (*path, part), value[part]
    return path if path or not loc else (loc[0],)


def _error_sentence(detail: ErrorDetails, path: KeyPath, model: type[BaseModel]) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        allowed = _names_at(path[:-1], model)
        return (
            f"there is no such key{did_you_mean(str(path[-1]), allowed)}; allowed here: {', '.join(allowed)}"
        )
    if kind == "model_type":
        return f"a mapping of keys is wanted here: {', '.join(_names_at(path, model))}; it is {detail['input']!r}"
    if kind == "missing":
        return f"the key {detail['loc'][-1]!r} is missing"
    input_text = (
        f"; it is {detail['input']!r}" if not isinstance(detail["input"], (Mapping, BaseModel)) else ""
    )
    return detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ") + input_text


def _names_at(path: KeyPath, model: type[BaseModel]) -> list[str]:
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
