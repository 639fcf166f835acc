"""The delivery account as a section: statements, counters, and the messages that break a promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.sections import delivery, offending_messages
from bench.report.sections.delivery import Statement
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Table


@dataclass(frozen=True, slots=True)
class Offences:
    """The table of offending messages: `count` in all, of each kind at most `most_rows` rows."""

    table: Table
    count: int
    most_rows: int


@dataclass(frozen=True, slots=True)
class DeliveryAccount:
    """Each table but the `accounts` is None where it would have no rows.

    `retention`: servers deleted what is gone as they were to.
    """

    retention: bool
    statements: Sequence[Statement]
    accounts: Sequence[Table]
    consumers: Table | None
    counters: Table | None
    unfinished: Table | None
    errors: Table | None
    offences: Offences | None


def _content(report: ReportInput) -> DeliveryAccount:
    results, parts = report.results, report.parts
    return DeliveryAccount(
        retention=results.retention,
        statements=delivery.statements(results),
        accounts=[delivery.account(results, part) for part in parts],
        consumers=delivery.consumers(results, parts),
        counters=delivery.counters(results),
        unfinished=delivery.unfinished_reads(results, parts),
        errors=delivery.errors(results, parts),
        offences=_offences(report),
    )


def _offences(report: ReportInput) -> Offences | None:
    table = offending_messages.table(report.results, report.parts)
    count, most_rows = offending_messages.count(report.results), offending_messages.LISTED
    return Offences(table, count, most_rows) if table else None


SECTION = Section("delivery", "Delivery account", _content)
