"""A made-up answer, for tests of what shows answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench.report.answer.model import Answer, ExpectationFinding, Finding
from bench.report.cause import Cause
from bench.report.table import Cell, Column, Row, Table

TABLE = Table(
    "Guarantees",
    (Column("guarantee", "name"), Column("ms a send", group="Kafka"), Column("ratio")),
    (
        Row((Cell("In memory"),), heading=True),
        Row((Cell("any one node"), Cell("0.66"), Cell("2.5 times"))),
        Row((Cell("a | b"), Cell("1.5"), Cell(""))),
    ),
)
HELD = ExpectationFinding(
    verdict="held",
    tone="good",
    mark="✓",
    system="Kafka",
    claim="`acks=all` is slower",
    effect="2.8 times, 2.5 to 3.1",
    anchor="expectation-1",
)
ANSWER = Answer(
    title="What a copy costs",
    question="What does a copy cost?",
    findings=(
        Finding("Waiting for all replicas takes 2.8 times as long."),
        Finding("No difference can be told on Pulsar.", decided=False),
    ),
    conditions="One machine with 2 cores, five rounds.",
    advice=("Wait for all replicas.",),
    causes=(Cause("The session ends after 6 s.", "A shorter session.", "KIP-500"),),
    table=TABLE,
    glossary=(("bookie", "a server that stores messages"),),
    notices=("The CPU limited 3 of 10 trials.",),
    alarms=("Pulsar lost 3 messages that its configuration promises to keep.",),
    expectations=(HELD, replace(HELD, verdict="undecided", tone="warn", mark="?", system="", effect="")),
    figure="throughput",
)


def answer(**changed: Any) -> Answer:
    """The answer with some of its fields changed."""
    return replace(ANSWER, **changed)
