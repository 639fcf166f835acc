"""YAML files of reports/, read and checked: an error names the file, the line and the key."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from bench.errors import ReportError, ScenarioError
from bench.scenario import yaml_source
from bench.scenario.yaml_source import YamlDocument

Model = TypeVar("Model", bound=BaseModel)


class YamlModel(BaseModel):
    """A mapping whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read(file: Path, model: type[Model]) -> Model:
    """Read a file as a model. Raises ReportError naming file, line and key, one line for each mistake."""
    try:
        document = yaml_source.read(file)
        return model.model_validate(document.value)
    except ScenarioError as error:
        raise ReportError(str(error)) from error
    except ValidationError as error:
        raise ReportError("\n".join(_sentence(document, detail) for detail in error.errors())) from None


def _sentence(document: YamlDocument, detail: ErrorDetails) -> str:
    path = detail["loc"]
    message = {
        "extra_forbidden": "there is no such key",
        "missing": "this key is missing",
    }.get(detail["type"], detail["msg"].removeprefix("Value error, "))
    return f"{document.place(path)}: {'.'.join(map(str, path))}: {message}"
