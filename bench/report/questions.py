"""What readers of the published reports ask, and which scenarios answer: reports/questions.yaml."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from bench.report import yaml_document
from bench.report.yaml_document import Strict

FILE = Path(__file__).resolve().parents[2] / "reports" / "questions.yaml"


class Question(Strict):
    """A question in the reader's words. The first scenario answers it, with the sentence of number `finding`."""

    question: str = Field(min_length=1)
    scenarios: tuple[str, ...] = Field(min_length=1)
    finding: int = Field(1, ge=1)


class KeyFinding(Strict):
    """A sentence of a scenario's answer, by its number, that readers are shown first; `about` names its subject."""

    about: str = Field(min_length=1)
    scenario: str
    finding: int = Field(1, ge=1)


class FrontPage(Strict):
    """The whole file."""

    findings: tuple[KeyFinding, ...] = ()
    questions: tuple[Question, ...] = ()


def front_page(file: Path = FILE) -> FrontPage:
    """Read the questions and key findings. Raises ReportError where the file is wrong, with line and key."""
    return yaml_document.read(file, FrontPage)
