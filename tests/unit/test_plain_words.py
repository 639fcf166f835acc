"""Reports speak plain technical English: none of the words that readers had to translate."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from bench import analysis, report, systems
from bench.report import packed_page, results, templates
from bench.report.pages import html, published_reports
from bench.run.publishing import PUBLISHED
from bench.scenario import catalogue, families
from bench.scenario.load import resolve_document

NOT = (
    *("told", "said", "meant", "kept", "worth", "of it served", "unheard", "crowded", "as is", "alike"),
    *("the dearest", "the cheapest", "twice", "disordered", "what became of", "by itself", "it came"),
)
_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(NOT)})(?![\w-])", re.IGNORECASE)
"""Whole words; a hyphen makes one part of a name (`broker-kill-unheard`)."""
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|\S+=as is|no difference can be told", re.IGNORECASE)
"""Names, quotations, the one setting whose value is such a word, and the words for a comparison without a winner."""
_UNSEEN = {"script", "style", "code", "pre", "svg"}
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


class Prose(HTMLParser):
    """The visible text of a page, one entry a run of text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._unseen = 0
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen += tag in _UNSEEN

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.texts.append(" ".join(data.split()))


def found_in(texts: Iterator[str] | list[str]) -> list[str]:
    """The words of the list that texts hold, each with what stands around it."""
    return [
        f"{word[0]}: …{plain[max(0, word.start() - 30) : word.end() + 30]}…"
        for text in texts
        if (plain := _QUOTED.sub("", text)) != "as is"  # the value of the setting, alone in its cell
        for word in _WORD.finditer(plain)
    ]


def scalars(node: object) -> Iterator[str]:
    """All texts of a YAML document that are no keys."""
    match node:
        case dict():
            for value in node.values():
                yield from scalars(value)
        case list() | tuple():
            for value in node:
                yield from scalars(value)
        case str():
            yield node


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
def test_a_report_holds_none_but_in_recorded_words(name: str) -> None:
    page = packed_page.unpack(html.render(PUBLISHED / name))

    assert found_in(own_words(page, name)) == []


def test_the_front_page_holds_none_but_in_recorded_words() -> None:
    page = published_reports.render(PUBLISHED, families())

    assert found_in(own_words(page, *(file.parent.name for file in PUBLISHED.glob("*/manifest.json")))) == []


def own_words(page: str, *names: str) -> list[str]:
    """The prose of a page without the texts that published runs recorded when they were made."""
    recorded = {text for name in names for text in recorded_texts(PUBLISHED / name) if _WORD.search(text)}
    return [_without(text, recorded) for text in Prose(page).texts]


def recorded_texts(run: Path) -> Iterator[str]:
    """The texts of a run's scenario, of its judged expectations, and of what limited its trials."""
    documents = [
        yaml.safe_load((run / "scenario.yaml").read_text(encoding="utf-8")),
        results.expectations(run),
        list(results.table(run, "trials")["bottleneck_evidence"].dropna()),
    ]
    for text in scalars(documents):
        yield from (" ".join(part.split()) for part in text.split("`"))  # a name is an element of its own


def _without(text: str, recorded: set[str]) -> str:
    for quotation in sorted(recorded, key=len, reverse=True):
        text = text.replace(quotation, "")
    return text
