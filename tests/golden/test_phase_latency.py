"""How long sends take before a node is lost, while it is away and while it catches up, worked out by hand."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from tests.eventlog import TrialLog, read_back, receive, seconds, send, write_run

Row = dict[str, Any]
ASKED_S, AWAY_S, HEALING_S, HEALED_S, COPIES_S, END_S = 10.0, 10.51, 15.0, 16.0, 22.0, 24.0
SOON_S = 17.0


def took_ms(number: int) -> float:
    """How long the send that is due after so many hundredths of a second takes.

    - Before 10 s: 2 ms, 11 of 1,000 7 ms. The 990th in order is the first of these.
    - From 10 s on nothing is acknowledged until 10.51 s: then all of them are.
    - Away, from 10.51 s to 15 s: 4 ms, 5 of 449 9 ms. The 445th in order is the first of these.
    - From 15 s to 16 s the node starts: 50 ms, in no phase.
    - Recovery, until all copies are there at 22 s: 3 ms, 6 of 600 20 ms, one fails and counts until the window's end,
      6.5 s later; the 594th is a 20.
    - After that 90 ms, in no phase.
    """
    due_s = number / 100
    if due_s < ASKED_S:
        return 7 if number % 90 == 5 and number < 990 else 2
    if due_s < AWAY_S:
        return (AWAY_S - due_s) * 1000
    if due_s < HEALING_S:
        return 9 if number in {1100, 1150, 1200, 1250, 1300} else 4
    if due_s < HEALED_S:
        return 50
    if due_s < COPIES_S:
        return 20 if number in {1650, 1700, 1800, 1900, 2000, 2100} else 3
    return 90


def trial(copies_s: float) -> TrialLog:
    due = [(number, seconds(number / 100)) for number in range(2400)]
    sends = [send(number, at, at + round(took_ms(number) * 1e6)) for number, at in due]
    failed = {"outcome": "fail", "error": "_TIMED_OUT", "entry": None}
    sends[1750] |= failed
    acked = [row for row in sends if row["outcome"] == "ok"]
    fault = {
        "name": "killed",
        "kind": "kill",
        "nodes": ["broker-2"],
        "away": True,
        "asked_ns": seconds(ASKED_S),
        "effect_ns": seconds(ASKED_S),
        "heal_asked_ns": seconds(HEALING_S),
        "healed_ns": seconds(HEALED_S),
        "proven": True,
    }
    both = [{"partition": 0, "leader": "broker-1", "in_sync": ["broker-1", "broker-2"]}]
    one = [{"partition": 0, "leader": "broker-1", "in_sync": ["broker-1"]}]
    history = [
        {"at_ns": 0, "partitions": both},
        {"at_ns": seconds(10.2), "partitions": one},
        {"at_ns": seconds(copies_s), "partitions": both},
    ]
    live = [receive("live", row, row["done_ns"] + seconds(0.001)) for row in acked]
    return TrialLog(
        sends,
        [*live, *read_back(acked)],
        window=(0, seconds(END_S)),
        others={"faults": [fault], "history": history},
    )


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> list[Row]:
    """The fault of a trial whose copies are back at 22 s, and of one whose copies are back 1 s after the node."""
    assert spark is not None
    run = write_run(tmp_path_factory.mktemp("phases") / "run", [trial(COPIES_S), trial(SOON_S)])
    analyse(run)
    rows: list[Row] = pq.read_table(run / "results" / "faults.parquet").to_pylist()
    return rows


def test_the_phases_are_where_the_fault_puts_them(faults: list[Row]) -> None:
    assert [fault["first_acked_ns"] for fault in faults] == [seconds(0.51)] * 2
    assert [fault["copies_back_ns"] for fault in faults] == [seconds(12), seconds(7)]


def test_each_phase_has_its_own_99th_percentile(faults: list[Row]) -> None:
    fault, _ = faults
    assert fault["p99_before_ns"] == seconds(0.007)
    assert fault["p99_away_ns"] == seconds(0.009)
    assert fault["p99_recovery_ns"] == seconds(0.020)


def test_a_recovery_lasts_five_seconds_at_least(faults: list[Row]) -> None:
    """Until 21 s: of 500 messages 5 take 20 ms, and one fails; the 495th is a 20. Of the 100 until 17 s it is a 3."""
    _, soon = faults

    assert soon["p99_recovery_ns"] == seconds(0.020)
