"""Reports speak plain technical English: none of the words that readers had to translate."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bench import analysis, report, systems
from bench.report import packed_page, templates
from bench.report.figures import drawing
from bench.report.pages import html
from bench.run.publishing import PUBLISHED
from bench.scenario import catalogue
from bench.scenario.load import resolve_document
from tests.plain_words import Prose, found_in, own_words, scalars

_JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)

SYSTEMS = Path(str(systems.__file__)).parent
CODE = sorted(
    [
        *(
            file
            for package in (analysis, report)
            for file in Path(str(package.__file__)).parent.rglob("*.py")
        ),
        *SYSTEMS.glob("*/description.py"),
    ]
)
"""What composes texts: the analysis those that results hold, the report the others, and systems their own."""
TEMPLATES = sorted([*templates.FOLDER.glob("*.j2"), *templates.FOLDER.glob("sections/*.j2")])
SENTENCES = sorted(templates.FOLDER.glob("sentences/*.j2"))
YAML = sorted(
    [
        *templates.FOLDER.parent.glob("*.yaml"),
        *Path(report.__file__).parent.glob("*.yaml"),
        *SYSTEMS.glob("*/labels.yaml"),
    ]
)
PRESENTED = ("title", "question", "labels", "answer", "causes", "note")
"""The keys of a scenario that say how its results are presented."""
RENDERED = ("parity", "broker-kill", "soak")


def shown(code: Path) -> Iterator[str]:
    """The texts in a module that can be sentences: with a space, and no docstrings."""
    tree = ast.parse(code.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone)
    for node in texts:
        if isinstance(node.value, str) and " " in node.value.strip():
            yield node.value


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("What was kept and what was not.", "kept"),
        ("Nodes of it served a second.", "of it served"),
        ("Twice as many", "Twice"),
        ("It is <b>worth</b> it", "worth"),
    ],
)
def test_a_word_of_the_list_is_found(text: str, word: str) -> None:
    (found,) = found_in(Prose(f"<p>{text}</p>").texts)

    assert found.startswith(f"{word}: ")


@pytest.mark.parametrize(
    "text",
    [
        "<code>kept</code> and <script>twice</script>",
        "scenario broker-kill-unheard",
        'the article "What is an ack worth?"',
        "No difference can be told",
        "emulated_fsync=as is",
        "the house was worthy",
    ],
)
def test_names_and_quotations_may_hold_them(text: str) -> None:
    assert found_in(Prose(f"<p>{text}</p>").texts) == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.name)
def test_a_template_holds_none(template: Path) -> None:
    assert found_in(Prose(_JINJA.sub(" ", template.read_text(encoding="utf-8"))).texts) == []


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda file: file.name)
def test_a_sentence_template_holds_none(sentence: Path) -> None:
    assert found_in([_JINJA.sub(" ", sentence.read_text(encoding="utf-8"))]) == []


@pytest.mark.parametrize("code", CODE, ids=lambda file: file.stem)
def test_a_text_that_the_report_composes_holds_none(code: Path) -> None:
    assert found_in(shown(code)) == []


@pytest.mark.parametrize("file", YAML, ids=lambda file: file.name)
def test_questions_corrections_and_labels_hold_none(file: Path) -> None:
    assert found_in(scalars(yaml.safe_load(file.read_text(encoding="utf-8")))) == []


def test_what_scenarios_ask_claim_and_present_holds_none() -> None:
    for name, file in catalogue.names().items():
        document = resolve_document(file).value
        claims = [expectation.get("claim") for expectation in document.get("expectations", ())]
        assert (name, found_in(scalars([*map(document.get, PRESENTED), *claims]))) == (name, [])


@pytest.mark.parametrize("name", RENDERED)
def test_a_report_holds_none_but_in_recorded_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Words in figures are not looked at.
    monkeypatch.setattr(drawing, "_svg", lambda figure: '<svg viewBox="0 0 100 1"></svg>')
    page = packed_page.unpack(html.render(PUBLISHED / name))

    assert found_in(own_words(page, name)) == []
