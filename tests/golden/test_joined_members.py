"""How soon started members of a group have their first message, worked out by hand."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from tests.eventlog import TrialLog, read_back, receive, seconds, send, write_run

Row = dict[str, Any]


def started(name: str, nodes: list[str], at_s: float) -> Row:
    return {
        "name": name,
        "kind": "start",
        "nodes": nodes,
        "away": False,
        "asked_ns": seconds(at_s),
        "effect_ns": seconds(at_s + 0.1),
        "heal_asked_ns": None,
        "healed_ns": None,
        "proven": True,
    }


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> dict[str, Row]:
    """Member 1 has a message every 100 ms; 2 joins at 1 s, 3 and 4 at 2 s, broker-4 starts at 3 s.

    Member 2 had a message of an earlier life at 0.55 s, and has its next at 1.45 s. Member 3 has one at 2.3 s, 4 none.
    """
    assert spark is not None
    sends = [send(number, seconds(0.1 * number), seconds(0.1 * number + 0.01)) for number in range(40)]
    live = [receive("live", row, row["done_ns"] + seconds(0.001)) for row in sends]
    extra = [(5, 0.55, 1), (14, 1.45, 1), (23, 2.3, 2)]
    live += [receive("live", sends[place], seconds(at_s), consumer=number) for place, at_s, number in extra]
    steps = [
        started("one joins", ["member-2"], 1.0),
        started("two join", ["member-3", "member-4"], 2.0),
        started("node added", ["broker-4"], 3.0),
    ]
    trial = TrialLog(
        sends,
        [*live, *read_back(sends)],
        window=(0, seconds(4)),
        configuration={"consumer_group": {"type": "shared", "processes": True}},
        others={"faults": steps},
    )
    run = write_run(tmp_path_factory.mktemp("joined") / "run", [trial])
    analyse(run)
    return {row["fault"]: row for row in pq.read_table(run / "results" / "faults.parquet").to_pylist()}


def test_a_member_counts_from_when_it_was_asked_for(faults: dict[str, Row]) -> None:
    assert faults["one joins"]["first_message_ns"] == seconds(0.45)


def test_members_that_join_together_are_there_once_each_had_a_message(faults: dict[str, Row]) -> None:
    assert faults["two join"]["first_message_ns"] is None


def test_a_server_has_no_first_message(faults: dict[str, Row]) -> None:
    assert faults["node added"]["first_message_ns"] is None
