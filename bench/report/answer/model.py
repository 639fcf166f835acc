"""The first page of a report as plain values, the same for pages, terminal and Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from bench.report.cause import Cause
from bench.report.table import Table


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of an answer, and its numbers where they have sentences of their own (`detail`).

    `decided` tells whether the run decides it; `anchor` is the section of the report that holds its evidence, empty for
    none. `advice` says what to do about it.
    """

    text: str
    decided: bool = True
    anchor: str = ""
    advice: tuple[str, ...] = ()
    detail: str = ""

    @property
    def full_text(self) -> str:
        """The sentence with its numbers."""
        return f"{self.text} {self.detail}".rstrip()


@dataclass(frozen=True, slots=True)
class ExpectationFinding:
    """An expectation's verdict, claim and effect size ("2.8 times, 2.5 to 3.1"; empty for none)."""

    verdict: str
    tone: str
    mark: str
    system: str
    claim: str
    effect: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A run's answer.

    `findings` are at most four sentences, the most important first. `advice` says what to do about them. `table`
    has the guarantees with both systems' settings and figures. `leading` is a shorter table for a page without room
    for it. It has only rows that the scenario's comparisons are of, or one a fault's outcome. It is None where it
    would be no shorter. `conditions` is one line on machine, load and repetitions. `notices` change the conclusion,
    `alarms` are losses that a promise covers. `figure` names the drawing that shows exactly this answer. `compared` has
    the changes of configuration that findings state, each with both configurations in full.
    """

    title: str
    question: str
    findings: tuple[Finding, ...]
    conditions: str
    advice: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    table: Table | None = None
    leading: Table | None = None
    glossary: tuple[tuple[str, str], ...] = ()
    notices: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    expectations: tuple[ExpectationFinding, ...] = ()
    figure: str = ""
    compared: Table | None = None

    @property
    def line(self) -> str:
        """The answer in one line: its first finding, with its numbers."""
        return self.findings[0].full_text if self.findings else ""
