"""How long a fault stops partitions that it did not strike, worked out by hand: three partitions, two brokers."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from tests.eventlog import TrialLog, read_back, receive, seconds, send, write_run

Row = dict[str, Any]
ASKED_S, END_S = 10.0, 20.0
SERVED = {0: "broker-1", 1: "broker-2", 2: "broker-1"}
STILL = {0: (10.5, 12.0), 1: (10.0, 13.0), 2: (11.0, 12.5)}
"""From when to when each partition acknowledges nothing, in seconds."""


def lane(partition: int) -> list[Row]:
    """A send every 100 ms that is acknowledged after 10 ms; those of a time of silence at its end, and 10 ms later."""
    rows = []
    for number in range(200):
        sent_s = number / 10
        from_s, to_s = STILL[partition]
        done_s = to_s + 0.01 if from_s <= sent_s < to_s else sent_s + 0.01
        place = partition * 200 + number
        rows.append(send(place, seconds(sent_s), seconds(done_s), partition=partition, producer=partition))
    return rows


MARK = {"name": "half", "kind": "mark", "asked_ns": seconds(12), "effect_ns": seconds(12)}
MOVED = {"name": "moved", "kind": "rebalance", "asked_ns": seconds(14), "effect_ns": seconds(15)}
"""Steps that strike no node."""


def trial(struck: list[str], number: int, *more_steps: Row) -> TrialLog:
    lanes = [lane(partition) for partition in SERVED]
    sends = [row for rows in lanes for row in rows]
    stored = [row for rows in lanes for row in read_back(rows)]
    live = [receive("live", row, row["done_ns"] + seconds(0.005)) for row in sends]
    fault = {
        "name": "killed",
        "kind": "kill",
        "nodes": struck,
        "away": True,
        "asked_ns": seconds(ASKED_S),
        "effect_ns": seconds(ASKED_S),
        "heal_asked_ns": None,
        "healed_ns": None,
        "proven": True,
    }
    placed = [{"partition": one, "leader": node, "in_sync": [node]} for one, node in SERVED.items()]
    moved = [{"partition": 1, "leader": "broker-1", "in_sync": ["broker-1"]}]
    history = [{"at_ns": 0, "partitions": placed}, {"at_ns": seconds(12.9), "partitions": moved}]
    return TrialLog(
        sends,
        [*live, *stored],
        window=(0, seconds(END_S)),
        round=number,
        others={"faults": [fault, *more_steps], "history": history},
    )


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> list[int | None]:
    run = write_run(
        tmp_path_factory.mktemp("others") / "run",
        [
            trial(["broker-2"], 0),
            trial(["broker-1"], 1),
            trial(["broker-1", "broker-2"], 2),
            trial(["broker-2"], 3, MARK, MOVED),
        ],
    )
    analyse(run)
    rows = pq.read_table(run / "results" / "faults.parquet").to_pylist()
    return [row["others_gap_ns"] for row in rows]


def test_partitions_of_other_nodes_stand_still_while_none_of_them_acknowledges(
    gaps: list[int | None],
) -> None:
    """Partition 2 acknowledges last at 10.91 s, while 0 is silent; 0 goes on at 12.01 s."""
    assert gaps[0] == seconds(12.01) - seconds(10.91)


def test_those_that_the_struck_node_served_do_not_count(gaps: list[int | None]) -> None:
    """Only partition 1 is another node's: it acknowledges at 9.91 s, then at 13.01 s."""
    assert gaps[1] == seconds(13.01) - seconds(9.91)


def test_where_all_nodes_are_struck_there_are_no_others(gaps: list[int | None]) -> None:
    assert gaps[2] is None


def test_steps_that_strike_nobody_have_no_others(gaps: list[int | None]) -> None:
    """A mark and a rebalance beside a kill have no nodes."""
    assert gaps[3:] == [seconds(12.01) - seconds(10.91)]
