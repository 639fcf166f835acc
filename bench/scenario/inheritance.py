"""`extends`: a scenario file merged over another one, with the place of every key."""

from __future__ import annotations

from pathlib import Path

from bench.errors import ScenarioError, did_you_mean
from bench.scenario import yaml_source
from bench.scenario.document_check import error_at
from bench.scenario.scenario_files import default_names, names
from bench.scenario.yaml_source import YamlDocument

KEY = "extends"
_NAME = "name"
"""What a scenario never has from its base."""


def read(file: Path) -> YamlDocument:
    """Read a scenario file, merged over the file that it extends, and so on.

    Raises ScenarioError with file, line and key for a base that does not exist, or that extends this file.
    """
    return _read(file, ())


def _read(file: Path, extending: tuple[Path, ...]) -> YamlDocument:
    document = yaml_source.read(file)
    if KEY not in document.value:
        return document
    base_file = _base_file(document, file)
    chain = (*extending, file.resolve())
    if base_file.resolve() in chain:
        cycle = " extends ".join(path.name for path in (*chain, base_file))
        raise _error(document, f"{cycle}: take one of these keys out")
    base = _read(base_file, chain).without(_NAME)
    return yaml_source.merge(base, document.without(KEY))


def _base_file(document: YamlDocument, file: Path) -> Path:
    """Return the file that `extends` stands for: a scenario's, one of defaults, or a path from `file`'s folder."""
    base_name = document.value[KEY]
    if not isinstance(base_name, str):
        raise _error(document, f"give the name of one scenario, or the path of its file; it is {base_name!r}")
    if base_name.endswith((".yaml", ".yml")):
        path = file.parent / base_name
        if not path.is_file():
            raise _error(document, f"there is no file {path}")
        return path
    base_files = names() | default_names()
    if base_name not in base_files:
        hint = did_you_mean(base_name, base_files) or "; `bench list` shows the scenarios"
        raise _error(document, f"there is no scenario and no file of defaults {base_name!r}{hint}")
    return base_files[base_name]


def _error(document: YamlDocument, message: str) -> ScenarioError:
    return error_at(document, (KEY,), message)
