"""Names in the code say what they hold, and lines of scenarios are short enough to be read."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
VAGUE = frozenset(
    re.findall(
        r"\w+",
        """
        told found known said one ones other others those every seen asked chosen taken kept meant alike alone both here
        its mine ours theirs wanted given there again rest whole own before after how what when where many much each
        these that this it
        """,
    )
)
SCENARIO_KEYS = frozenset({"where", "when", "after"})
"""Fields that are keys of scenario files have the keys' names, there."""
READERS_OF_SCENARIOS = frozenset({"scenario", "faults"})


_MOST_CHARACTERS = 100


def names(code: str) -> Iterator[tuple[int, str]]:
    """The names that code binds, each with its line."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


def vague(code: str) -> list[tuple[int, str]]:
    return [(line, name) for line, name in names(code) if name in VAGUE]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("found = 1", "found"),
        ("def told(): ...", "told"),
        ("def read(asked): ...", "asked"),
        ("[one for one in x]", "one"),
    ],
)
def test_a_vague_name_is_noticed(code: str, name: str) -> None:
    assert vague(code) == [(1, name)]


def test_no_name_is_vague() -> None:
    offenders = [
        f"{file.relative_to(BENCH.parent)}:{line}: {name}"
        for file in sorted(BENCH.rglob("*.py"))
        for line, name in vague(file.read_text(encoding="utf-8"))
        if not (name in SCENARIO_KEYS and file.relative_to(BENCH).parts[0] in READERS_OF_SCENARIOS)
    ]

    assert offenders == [], "name what it holds"


def test_no_line_of_a_scenario_is_too_long() -> None:
    """But for one word that is longer."""
    offenders = [
        f"{file.name}:{number}: {len(line)} characters"
        for file in sorted((BENCH.parent / "scenarios").glob("*/*.yaml"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > _MOST_CHARACTERS and len(line.split()) > 1
    ]

    assert offenders == []
