"""What belongs to one system stands in its folder of bench/systems: no other code names it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bench
from bench.report.answer import sentences
from bench.systems.description import Description
from bench.systems.registry import DESCRIPTIONS

ROOT = Path(bench.__file__).parent
WORDS = re.compile(
    r"kafka|pulsar|nats|jetstream|bookie|bookkeeper|zookeeper|librdkafka|journal(sync|write)|ledger|quorum"
    r"|min\.insync|kraft|autorecovery",
    re.IGNORECASE,
)
POSITION = re.compile(r"(previous_|first_)?ledgers?")
"""The position columns of the event log have the names that they always had."""
DOCUMENTATION = (ROOT / "cli.py", ROOT / "columns")
"""Help texts and what columns mean are documentation: they have examples, and say what the suite is for."""


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Give every identifier and every string of a module that is no docstring, with its line."""
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.lineno, node.arg or ""
        elif isinstance(node, ast.ImportFrom | ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)


def test_only_the_systems_own_code_names_them() -> None:
    places = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted(ROOT.rglob("*.py"))
        if not any(map(path.is_relative_to, (*DOCUMENTATION, ROOT / "systems")))
        for line, name in names(ast.parse(path.read_text(encoding="utf-8")))
        if WORDS.search(name) and not POSITION.fullmatch(name)
    ]

    assert places == []


def test_no_sentence_and_no_common_label_names_them() -> None:
    texts = [*sentences.FOLDER.glob("*.j2"), ROOT / "report" / "labels.yaml"]
    places = [
        f"{path.name}: {match[0]}"
        for path in texts
        for match in WORDS.finditer(re.sub(r"{#.*?#}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL))
    ]

    assert len(texts) > 1
    assert places == []


@pytest.mark.parametrize("system", DESCRIPTIONS.values(), ids=lambda system: system.name)
def test_a_system_whose_producers_may_resend_says_what_comes_of_it(system: Description) -> None:
    may_resend = type(system).resends is not Description.resends

    assert may_resend == bool(system.resends_remark)


@pytest.mark.parametrize(
    "code",
    ["kafka = 1", "f(bookie=1)", "x = f'{y} ledgers gone'", "import bench.systems.pulsar", "a.acks_of_kafka"],
)
def test_a_name_is_seen_wherever_it_stands(code: str) -> None:
    assert any(WORDS.search(name) and not POSITION.fullmatch(name) for _, name in names(ast.parse(code)))


def test_a_docstring_may_name_them() -> None:
    assert list(names(ast.parse('"""As in Kafka."""'))) == []
