"""The tables of results/, each column declared once: type, unit, meaning (docs/tables.md is made from them)."""

from __future__ import annotations

from bench.columns.capacity import CAPACITIES, COSTS, HOLDS, PREDICTIONS
from bench.columns.cases import CASES, ENDS, RATIOS
from bench.columns.column import Kind, ResultColumn, ResultTable
from bench.columns.messages import CONSUMERS, ERRORS, MESSAGES
from bench.columns.series import PERCENTILES, SLICES, TELEMETRY, TIMELINE, USE
from bench.columns.steps import (
    FAULT_METRICS,
    FAULTS,
    PHASES,
    READING_METRICS,
    READINGS,
    SERVED,
    SLOWED,
    TRANSFER_METRICS,
    TRANSFERS,
)
from bench.columns.trials import (
    BROKEN,
    BROKER_SPREAD,
    CAPACITY,
    CONSUMED,
    CONSUMER_COUNTERS,
    COUNTERS,
    CREATE_NS,
    FOOTPRINT,
    KEYED,
    MEMBERS,
    METRICS,
    OUTAGE,
    RATES,
    READER_STALL_NS,
    REQUEST_MESSAGES,
    SEGMENTS,
    SHARES,
    STORED,
    TIMES,
    TRIALS,
    USAGE,
)

TABLES = {
    table.name: table
    for table in (
        *(TRIALS, CASES, TIMELINE, SLICES, HOLDS, CAPACITIES, RATIOS, TELEMETRY, USE, COSTS, PREDICTIONS),
        *(PERCENTILES, ERRORS, MESSAGES, CONSUMERS, FAULTS, READINGS, TRANSFERS, SERVED),
    )
}
"""All tables by name, in the documentation's order."""

__all__ = [
    "BROKEN",
    "BROKER_SPREAD",
    "CAPACITY",
    "CONSUMED",
    "CONSUMER_COUNTERS",
    "COUNTERS",
    "CREATE_NS",
    "ENDS",
    "FAULT_METRICS",
    "FOOTPRINT",
    "KEYED",
    "MEMBERS",
    "METRICS",
    "OUTAGE",
    "PHASES",
    "RATES",
    "READER_STALL_NS",
    "READING_METRICS",
    "REQUEST_MESSAGES",
    "SEGMENTS",
    "SHARES",
    "SLOWED",
    "STORED",
    "TABLES",
    "TIMES",
    "TRANSFER_METRICS",
    "USAGE",
    "Kind",
    "ResultColumn",
    "ResultTable",
]
