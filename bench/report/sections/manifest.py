"""The manifest as lines, for those who want to repeat the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bench import numbers
from bench.report.results import Json, Results
from bench.report.sections.section import ReportInput, Section

_ELSEWHERE = frozenset({"title", "question", "source", "expectations", "format"})
_MACHINE_WORDS = {"memory_bytes": numbers.size}


def lines(results: Results) -> list[tuple[str, str]]:
    """Every value of the manifest that does not stand elsewhere in the report, by its path."""
    manifest = {name: value for name, value in results.manifest.items() if name not in _ELSEWHERE}
    return [(name, text) for name, text in _flat(manifest) if text]


def _flat(node: Json, path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in node.items():
        place = f"{path}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{place}.")
        elif isinstance(value, list):
            yield place, _list(value)
        else:
            yield place, _text(name, value)


def _list(values: list[object]) -> str:
    if any(isinstance(value, Mapping) for value in values):
        return ""
    return ", ".join(str(value) for value in values)


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and name in _MACHINE_WORDS:
        return _MACHINE_WORDS[name](value)
    if isinstance(value, int | float) and name == "seed":
        return str(value)
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)


def _content(report: ReportInput) -> list[tuple[str, str]]:
    return lines(report.results)


SECTION = Section("manifest", "Manifest", _content)
