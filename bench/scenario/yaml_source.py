"""YAML with its line numbers: plain values, and the line on which each key stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from bench.errors import ScenarioError

_OPENING = "[{-?"
"""What opens a list or a mapping on the same line."""
_MOST_OPENED = 10_000

KeyPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A YAML document: `value` as plain Python, `places` from key path to "file:line"."""

    value: dict[str, Any]
    places: Mapping[KeyPath, str] = field(default_factory=dict)

    def place(self, path: KeyPath) -> str:
        """Return the place of `path`, or of the nearest key above it that stands in a file."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, "")

    def value_at(self, path: KeyPath) -> Any:  # noqa: ANN401 - what YAML holds
        """Return what stands at `path`, None where there is no such key."""
        value: Any = self.value
        for part in path:
            if isinstance(value, list) and isinstance(part, int):
                value = value[part] if part < len(value) else None
            else:
                value = value.get(part) if isinstance(value, Mapping) else None
        return value

    def without(self, key: str) -> YamlDocument:
        """Return the document without a key of its top."""
        value = {name: inner for name, inner in self.value.items() if name != key}
        return YamlDocument(value, {path: place for path, place in self.places.items() if path[:1] != (key,)})

    def with_items(self, path: KeyPath, items: Sequence[tuple[int, object]]) -> YamlDocument:
        """Return the document with other items in the list at `path`; each has the place of an item of today."""
        below = len(path)
        places = {key: place for key, place in self.places.items() if key[:below] != path or key == path}
        for number, (source, _) in enumerate(items):
            for key, place in self.places.items():
                if key[: below + 1] == (*path, source):
                    places[*path, number, *key[below + 1 :]] = place
        value = _replace_value(self.value, path, [item for _, item in items])
        return YamlDocument(value, places)


def _replace_value(value: Mapping[str, Any], path: KeyPath, replacement: object) -> dict[str, Any]:
    """Return a mapping of mappings with another value at `path`."""
    key, below = str(path[0]), path[1:]
    inner = _replace_value(value[key], below, replacement) if below else replacement
    return {**value, key: inner}


def read(file: Path) -> YamlDocument:
    """Read one YAML mapping. Raises ScenarioError for what isn't YAML, isn't a mapping or repeats a key."""
    try:
        text = file.read_text(encoding="utf-8")
        _require_shallow(file, text)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        message = f"{file}: cannot be read: {error}"
        raise ScenarioError(message) from error
    except yaml.YAMLError as error:
        raise _no_yaml(file, error, line=1, last_line=text.count("\n") + 1) from error
    if not isinstance(root, yaml.MappingNode):
        message = f"{file}:1: this is not a mapping of keys (name: value)"
        raise ScenarioError(message)
    reader = _Reader(file)
    try:
        return YamlDocument(reader.mapping(root, ()), reader.places)
    except RecursionError as error:
        raise ScenarioError(
            f"{file}: an alias (*) in it stands for something that it is a part of"
        ) from error


def _require_shallow(file: Path, text: str) -> None:
    """Raise ScenarioError for a text that might be nested so deeply that libyaml ends the process."""
    if sum(map(text.count, _OPENING)) > _MOST_OPENED:
        raise ScenarioError(f"{file}: it has more than {_MOST_OPENED:,} lists and mappings; split it")


def _no_yaml(file: Path, error: yaml.YAMLError, line: int, last_line: int) -> ScenarioError:
    """Return the error with the line that it names, `last_line` where that is behind the end; else with `line`."""
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    line = min(mark.line + 1, last_line) if mark else line
    problem = error.problem if isinstance(error, yaml.MarkedYAMLError) else str(error).splitlines()[0]
    return ScenarioError(f"{file}:{line}: this is not YAML: {problem}")


class _Reader:
    """Builds values from YAML nodes and remembers where each key stood."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._loader = yaml.SafeLoader("")
        self.places: dict[KeyPath, str] = {(): f"{file}:1"}

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        """Build a mapping; a key that stands twice is refused."""
        built: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            place = f"{self._file}:{key_node.start_mark.line + 1}"
            if key in built:
                message = f"{place}: key {key!r} stands twice in this mapping; keep one"
                raise ScenarioError(message)
            self.places[(*path, key)] = place
            built[key] = self._value(value_node, (*path, key))
        return built

    def _value(self, node: yaml.Node, path: KeyPath) -> object:
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _scalar(self, node: yaml.Node) -> object:
        line = node.start_mark.line + 1
        try:
            return self._loader.construct_object(node)
        except yaml.YAMLError as error:
            raise _no_yaml(self._file, error, line, last_line=line) from error
        except ValueError as error:  # looks like a date or a number, and is none
            raise ScenarioError(f"{self._file}:{line}: {node.value!r} is no value: {error}") from error

    def _item(self, node: yaml.Node, path: KeyPath) -> object:
        self.places[path] = f"{self._file}:{node.start_mark.line + 1}"
        return self._value(node, path)


def overlaid(base: YamlDocument, top: Mapping[str, Any], top_path: KeyPath) -> YamlDocument:
    """Lay `top` (found at `top_path` of the same document) over `base`: mappings merge, the rest replaces."""
    places = dict(base.places)
    value = _overlay_mappings(base.value, top, (), top_path, places)
    return YamlDocument(value, places)


def _overlay_mappings(
    base: Mapping[str, Any],
    top: Mapping[str, Any],
    path: KeyPath,
    top_path: KeyPath,
    places: dict[KeyPath, str],
) -> dict[str, Any]:
    merged = dict(base)
    for key, value in top.items():
        target_path, source_path = (*path, key), (*top_path, key)
        if source_path in places:
            places[target_path] = places[source_path]
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = _overlay_mappings(merged[key], value, target_path, source_path, places)
        else:
            _move(places, source_path, target_path)
            merged[key] = value
    return merged


def _move(places: dict[KeyPath, str], source_path: KeyPath, target_path: KeyPath) -> None:
    """Give everything below `target_path` the places of what stands below `source_path`."""
    for path in [path for path in places if path[: len(target_path)] == target_path and path != target_path]:
        del places[path]
    below = {
        path: place
        for path, place in places.items()
        if path[: len(source_path)] == source_path and path != source_path
    }
    places.update({(*target_path, *path[len(source_path) :]): place for path, place in below.items()})


def merge(base: YamlDocument, extending: YamlDocument) -> YamlDocument:
    """Lay a document over its `base`: mappings merge, null removes a key, the rest replaces."""
    replaced: set[KeyPath] = set()
    removed: set[KeyPath] = set()
    value = _merge_mappings(base.value, extending.value, (), replaced, removed)
    gone = replaced | removed
    base_places = {
        path: place
        for path, place in base.places.items()
        if not any(path[:length] in gone for length in range(1, len(path) + 1))
    }
    own_places = {path: place for path, place in extending.places.items() if path not in removed}
    return YamlDocument(value, base_places | own_places)


def _merge_mappings(
    base: Mapping[str, Any],
    extending: Mapping[str, Any],
    path: KeyPath,
    replaced: set[KeyPath],
    removed: set[KeyPath],
) -> dict[str, Any]:
    """Merge two mappings; note the paths below which nothing of the base is left."""
    value = dict(base)
    for key, own_value in extending.items():
        key_path = (*path, key)
        base_value = value.get(key)
        if isinstance(own_value, Mapping) and isinstance(base_value, Mapping):
            value[key] = _merge_mappings(base_value, own_value, key_path, replaced, removed)
        elif own_value is None and key in value:
            removed.add(key_path)
            del value[key]
        else:
            replaced.add(key_path)
            value[key] = own_value
    return value
