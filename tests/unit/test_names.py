"""Names in the code say what they hold, and lines of scenarios are short enough to be read."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
VAGUE = frozenset(
    re.findall(
        r"\w+",
        """
        told found known said one ones other others those every seen asked chosen taken kept meant alike alone both here
        its mine ours theirs wanted given there again rest whole own before after how what when where many much each
        these that this it something
        """,
    )
)
SCENARIO_KEYS = frozenset({"where", "when", "after"})
"""Fields that are keys of scenario files have the keys' names, there."""
READERS_OF_SCENARIOS = frozenset({"scenario", "faults"})
_PARTICIPLE = re.compile(
    r"(?!seed|speed|testbed)[a-z]+ed"
    r"|begun|broken|done|drawn|gone|grown|held|late|left|lost|met|sent|shown|spent|stood|struck|swept|written"
)
"""A participle alone names no module, class or function: these are nouns, or a function's verb."""
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_CHARACTERS = 100


def names(code: str) -> Iterator[tuple[int, str]]:
    """The names that code binds, each with its line."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield node.lineno, name
            case (
                ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name))
            ):
                yield node.lineno, name


def is_vague(name: str) -> bool:
    return name.strip("_").lower() in VAGUE


def names_no_thing(name: str) -> bool:
    return is_vague(name) or _PARTICIPLE.fullmatch(name.strip("_").lower()) is not None


def vague(code: str) -> list[tuple[int, str]]:
    definitions = [node for node in ast.walk(ast.parse(code)) if isinstance(node, _DEFINITIONS)]
    offenders = {(line, name) for line, name in names(code) if is_vague(name)}
    return sorted(offenders | {(node.lineno, node.name) for node in definitions if names_no_thing(node.name)})


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("found = 1", "found"),
        ("def told(): ...", "told"),
        ("def read(asked): ...", "asked"),
        ("[one for one in x]", "one"),
        ("_found = 1", "_found"),
        ("class Found: ...", "Found"),
        ("class _Told: ...", "_Told"),
        ("class Struck: ...", "Struck"),
        ("def _placed(): ...", "_placed"),
        ("async def sent(): ...", "sent"),
        ("def _shown(): ...", "_shown"),
        ("class _swept: ...", "_swept"),
        ("def something(): ...", "something"),
        ("MANY = 3", "MANY"),
        ("self.told = 1", "told"),
        ("a.b._kept += 1", "_kept"),
        ("import os as other", "other"),
    ],
)
def test_a_vague_name_is_noticed(code: str, name: str) -> None:
    assert vague(code) == [(1, name)]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("try: ...\nexcept ValueError as told: ...", "told"),
        ("match x:\n  case {'a': found}: ...", "found"),
        ("match x:\n  case [*others]: ...", "others"),
        ("match x:\n  case {**rest}: ...", "rest"),
        ("match x:\n  case int() as one: ...", "one"),
    ],
)
def test_a_vague_name_that_a_statement_captures_is_noticed(code: str, name: str) -> None:
    assert vague(code) == [(2, name)]


@pytest.mark.parametrize(
    "code",
    ["told_count = 1", "seen_ns = 1", "x.told", "told()", "class Finding: ...", "class ActiveFault: ..."],
)
def test_a_name_that_says_what_it_holds_passes(code: str) -> None:
    assert vague(code) == []


@pytest.mark.parametrize(
    ("module", "refused"),
    [("served", True), ("late", True), ("rest", True), ("served_rows", False), ("latency", False)],
)
def test_a_module_is_named_after_a_noun(module: str, refused: bool) -> None:
    assert names_no_thing(module) is refused


def test_no_module_has_a_name_that_names_no_thing() -> None:
    modules = [*BENCH.rglob("*.py"), *(file for file in BENCH.rglob("*") if (file / "__init__.py").is_file())]
    offenders = [str(file.relative_to(BENCH.parent)) for file in sorted(modules) if names_no_thing(file.stem)]

    assert offenders == [], "name it after its noun"


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


def shared_classes(code_by_file: Mapping[str, str]) -> dict[str, list[str]]:
    """The names that classes of several files have, with these files."""
    files: dict[str, list[str]] = {}
    for file, code in code_by_file.items():
        for node in ast.parse(code).body:
            if isinstance(node, ast.ClassDef):
                files.setdefault(node.name, []).append(file)
    return {name: names for name, names in files.items() if len(names) > 1}


def test_classes_of_one_name_are_noticed() -> None:
    code = {"a.py": "class Row: ...", "b.py": "class Row: ...\nclass Cell: ..."}

    assert shared_classes(code) == {"Row": ["a.py", "b.py"]}


def test_no_two_classes_have_one_name() -> None:
    code = {str(file.relative_to(BENCH)): file.read_text(encoding="utf-8") for file in BENCH.rglob("*.py")}

    assert shared_classes(code) == {}
