"""What members of a consumer group had, worked out by hand: three members, a window from 1 to 3 s."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from bench.columns import CONSUMER_COUNTERS
from tests.eventlog import TrialLog, read_back, receive, seconds, send, write_run

Row = dict[str, Any]
LOAD = {
    "producers": 1,
    "consumers": 3,
    "message_bytes": 100,
    "pacing": "closed",
    "window": 1,
    "warm_up_s": 0.0,
    "duration_s": 2.0,
    "messages": None,
}


def grouped(sends: list[Row], live: list[Row], number: int) -> TrialLog:
    return TrialLog(
        sends,
        [*live, *read_back(sends)],
        window=(seconds(1), seconds(3)),
        round=number,
        configuration={"consumer_group": {"type": "shared", "work": "5ms"}},
        others={"load": LOAD},
    )


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> list[Row]:
    """Member 0 has messages 0 to 5, member 1 has 6 and 7, and 5 again; of 0 and 7 the time is not in the window.

    In the second trial nobody had anything.
    """
    assert spark is not None
    sends = [send(number, seconds(0.1 * number), seconds(0.1 * number + 0.01)) for number in range(8)]
    times = {0: 0.9, 1: 1.0, 2: 1.2, 3: 1.4, 4: 1.6, 5: 1.8, 6: 2.9, 7: 3.0}
    live = [
        receive("live", sends[number], seconds(at_s), consumer=0 if number < 6 else 1)
        for number, at_s in times.items()
    ]
    live.append(receive("live", sends[5], seconds(2.5), consumer=1))
    run = write_run(
        tmp_path_factory.mktemp("members") / "run", [grouped(sends, live, 0), grouped(sends, [], 1)]
    )
    analyse(run)
    found: list[Row] = pq.read_table(run / "results" / "trials.parquet").to_pylist()
    return found


def test_a_group_has_each_message_once_however_often_it_came(trials: list[Row]) -> None:
    """Messages 1 to 6 came in two seconds."""
    assert trials[0]["consumed_msgs_per_s"] == 3
    assert trials[0]["redelivered"] == 1


def test_members_that_had_nothing_are_idle(trials: list[Row]) -> None:
    """Member 2 had none; member 0 had five of seven receives, 2 and a third would be even."""
    assert trials[0]["idle_members"] == 1
    assert trials[0]["member_imbalance"] == pytest.approx(5 / (7 / 3))


def test_a_group_that_had_nothing_has_no_imbalance(trials: list[Row]) -> None:
    assert [trials[1][name] for name in ("consumed_msgs_per_s", "redelivered", "idle_members")] == [0, 0, 3]
    assert trials[1]["member_imbalance"] is None


def test_what_one_member_did_not_have_is_nothing_skipped(trials: list[Row]) -> None:
    assert {trials[0][name] for name in CONSUMER_COUNTERS} == {None}
    assert trials[0]["verdict"] == "valid"


def keyed(sends: list[Row], live: list[Row]) -> TrialLog:
    log = grouped(sends, live, 0)
    return replace(log, others={"load": LOAD | {"keys": 2}})


def test_order_is_judged_by_producer_and_key_over_all_members(tmp_path: Path, spark: SparkSession) -> None:
    """Even messages have key 0, odd ones key 1, of producers 0 and 1.

    Producer 0: key 0 comes as 0, 4, 2, 4 again, 6: 2 is late. Key 1 comes as 3 and, at another member, 1: late, too.
    Producer 1 has 0 and 2 at the same time. Key 0 came to member 0 only, key 1 to members 0 and 1: 1.5 on average.
    """
    assert spark is not None
    sends = [
        send(number, seconds(0.1 * number), seconds(0.1 * number + 0.01), producer=producer)
        for producer in (0, 1)
        for number in range(8)
    ]
    places = {(row["producer"], row["sequence"]): row for row in sends}
    came = [
        *((0, 0, 1.0, 0), (0, 4, 1.1, 0), (0, 2, 1.2, 0), (0, 4, 1.3, 0), (0, 6, 1.4, 0)),
        *((0, 3, 1.5, 0), (0, 1, 1.6, 1)),
        *((1, 2, 1.7, 0), (1, 0, 1.7, 0)),
    ]
    live = [
        receive("live", places[producer, number], seconds(at_s), consumer=member)
        for producer, number, at_s, member in came
    ]
    run = write_run(tmp_path / "run", [keyed(sends, live)])

    analyse(run)

    (trial,) = pq.read_table(run / "results" / "trials.parquet").to_pylist()
    assert trial["key_order_violations"] == 2
    assert trial["members_per_key"] == 1.5


def test_without_keys_there_is_no_order_of_keys(trials: list[Row]) -> None:
    assert (trials[0]["key_order_violations"], trials[0]["members_per_key"]) == (None, None)
