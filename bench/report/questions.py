"""What readers of the published reports ask, and which scenarios answer: reports/questions.yaml."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from bench import places
from bench.report import yaml_document
from bench.report.yaml_document import YamlModel

FILE = places.QUESTIONS


class Question(YamlModel):
    """A question in the reader's words. The first scenario answers it, with the sentence of number `finding`.

    `key`: it stands among the key findings, with what to do about its answer. `settings`: it leads to the table of what
    each setting lost in all scenarios with faults.
    """

    question: str = Field(min_length=1)
    scenarios: tuple[str, ...] = Field(min_length=1)
    finding: int = Field(1, ge=1)
    key: bool = False
    settings: bool = False


class FrontPage(YamlModel):
    """The whole file."""

    questions: tuple[Question, ...] = ()


def front_page(file: Path = FILE) -> FrontPage:
    """Read the questions. Raises ReportError where the file is wrong, with line and key."""
    return yaml_document.read(file, FrontPage)
