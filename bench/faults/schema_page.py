"""docs/scenario-keys.md from the JSON Schema: python -m bench.faults.schema_page > docs/scenario-keys.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.faults.schema import document

_HEAD = """\
# The keys of a scenario file

Made from the schema by `make generated`: change it there. How a scenario is
written is in [Scenario files](scenarios.md), what may break in [Steps that break something](steps.md).

A key without a default must be given where its table says *required*. Sizes, rates and durations are written with
their unit: `10s`, `512MiB`, `20MB/s`, `50mbit`. A *value* is a number, a text, `true` or `false`.
"""
_ROOT = "a scenario"
_TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "`true` or `false`"}
_ANY_VALUE = {"number", "text", "`true` or `false`"}
_MOST_NAMES = 12
"""Longer lists of names are left to the editor."""

Schema = Mapping[str, Any]


def page() -> str:
    """Return the page as Markdown: a section for the file, and for each mapping in it, by where it first occurs."""
    schema = _inline_definitions(document())
    paths = _paths(schema)
    sections = [(_ROOT, schema), *((path, schema["$defs"][name]) for name, path in paths.items())]
    return "\n".join(
        [_HEAD, *(_section(path, part, paths) for path, part in sections if part.get("properties"))]
    )


def _inline_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Put a definition that is no mapping, such as a choice of names, where it is referred to."""
    plain = {
        f"#/$defs/{name}": {key: value for key, value in part.items() if key != "description"}
        for name, part in schema["$defs"].items()
        if not part.get("properties")
    }

    def inline(part: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(part, list):
            return [inline(inner) for inner in part]
        if not isinstance(part, dict):
            return part
        inner = {key: inline(value) for key, value in part.items()}
        return {**plain[inner.pop("$ref")], **inner} if inner.get("$ref") in plain else inner

    return {key: inline(value) for key, value in schema.items()}


def _paths(schema: Schema) -> dict[str, str]:
    """Return where each definition first occurs, such as systems.kafka.nodes, nearest to the root first."""
    paths: dict[str, str] = {}
    waiting: list[tuple[str, Schema]] = [("", schema)]
    while waiting:
        path, part = waiting.pop(0)
        for key, value in part.get("properties", {}).items():
            for name in _references(value):
                if name not in paths:
                    paths[name] = _unique_path(f"{path}.{key}".lstrip("."), schema["$defs"][name], paths)
                    waiting.append((paths[name], schema["$defs"][name]))
    return paths


def _unique_path(path: str, part: Schema, paths: Mapping[str, str]) -> str:
    """Return a path, with the first key that must be there where another mapping may stand in the same place."""
    return path if path not in paths.values() else f"{path} with {part['required'][0]}"


def _references(value: object) -> Iterator[str]:
    """Give the names of the definitions to which a part of a schema refers."""
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield str(value["$ref"]).rpartition("/")[2]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _section(path: str, part: Schema, paths: Mapping[str, str]) -> str:
    rows = "\n".join(_row(key, value, part, paths) for key, value in part["properties"].items())
    text = _line(str(part.get("description") or ""))
    head = "| key | value | default | meaning |\n|---|---|---|---|"
    return "\n\n".join(filter(None, (f"## {_title(path)}", text, f"{head}\n{rows}"))) + "\n"


def _row(key: str, value: Schema, part: Schema, paths: Mapping[str, str]) -> str:
    default = _default(value, required=key in part.get("required", ()))
    return f"| `{key}` | {_value(value, paths)} | {default} | {_line(str(value.get('description') or ''))} |"


def _default(value: Schema, *, required: bool) -> str:
    if required:
        return "*required*"
    default = value.get("default")
    plain = default is not None and default != "" and not isinstance(default, (list, dict))
    return f"`{json.dumps(default) if isinstance(default, bool) else default}`" if plain else ""


def _value(value: Schema, paths: Mapping[str, str]) -> str:
    """Say in words what may stand there; of one thing or a list of such, the thing once."""
    words = list(dict.fromkeys(_words(value, paths)))
    lists = [word for word in words if word.startswith("list of ")]
    alternatives = _join_alternatives([word for word in words if word not in lists])
    if alternatives and lists:
        return f"{alternatives}, or a list"
    return alternatives or " or ".join(lists) or "anything"


def _join_alternatives(words: Sequence[str]) -> str:
    """Put alternatives together; a whole number is a number, and all three plain types are any value."""
    shown = [word for word in words if word != _TYPES["integer"] or _TYPES["number"] not in words]
    if set(shown) >= _ANY_VALUE:
        shown = ["value", *(word for word in shown if word not in _ANY_VALUE)]
    return " or ".join(shown)


def _words(value: Schema, paths: Mapping[str, str]) -> Iterator[str]:
    if "$ref" in value:
        name = str(value["$ref"]).rpartition("/")[2]
        yield _link(paths[name])
    elif "const" in value:
        yield f"`{json.dumps(value['const'])}`".replace('"', "")
    elif "enum" in value:
        names = [f"`{name}`" for name in value["enum"]]
        yield from (names if len(names) <= _MOST_NAMES else ["one of many names, which an editor completes"])
    elif alternatives := value.get("anyOf") or value.get("oneOf"):
        yield from (words for part in alternatives for words in _words(part, paths))
    elif value.get("type") == "array":
        yield f"list of {_value(value.get('items', {}), paths)}"
    elif value.get("type") == "object":
        yield _mapping(value, paths)
    else:
        types = value.get("type", ())
        yield from (_TYPES[name] for name in ([types] if isinstance(types, str) else types) if name in _TYPES)


def _mapping(value: Schema, paths: Mapping[str, str]) -> str:
    """Say what a mapping has: its keys where they are written down, else what each key leads to."""
    keys = value.get("properties", {})
    if any("$ref" not in inner for inner in keys.values()):
        return f"mapping with {', '.join(f'`{key}`' for key in keys)}"
    inner = value.get("additionalProperties") or next(iter(keys.values()), None)
    return f"mapping to {_value(inner, paths)}" if isinstance(inner, Mapping) else "mapping"


def _title(path: str) -> str:
    return path[:1].upper() + path[1:] if path == _ROOT else f"`{path}`"


def _link(path: str) -> str:
    anchor = "".join(letter for letter in path.replace(" ", "-") if letter.isalnum() or letter in "-_")
    return f"[`{path}`](#{anchor})"


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
