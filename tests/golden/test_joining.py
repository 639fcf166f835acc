"""How soon a started node takes its part of the load, worked out by hand: a third broker, asked for at 10 s."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from tests.eventlog import TrialLog, read_back, sample, seconds, send, write_run

Row = dict[str, Any]
ASKED_S = 10.0


def trial(third_at_20_s: float, number: int) -> TrialLog:
    """Two brokers take 1,000 bytes a second each; the third 100 a second until 15 s, then what is given until 20 s."""
    sends = [send(one, seconds(one / 10), seconds(one / 10 + 0.01)) for one in range(300)]
    samples = [
        sample(at_s, node, "bytes_in", at_s * 1000)
        for at_s in (0, 5, 10, 15, 20, 25)
        for node in ("broker-1", "broker-2")
    ]
    samples += [
        sample(12, "broker-3", "bytes_in", 0),
        sample(15, "broker-3", "bytes_in", 300),
        sample(20, "broker-3", "bytes_in", 300 + 5 * third_at_20_s),
    ]
    fault = {
        "name": "broker added",
        "kind": "start",
        "nodes": ["broker-3"],
        "away": False,
        "asked_ns": seconds(ASKED_S),
        "effect_ns": seconds(11),
        "heal_asked_ns": None,
        "healed_ns": None,
        "proven": True,
    }
    return TrialLog(
        sends,
        read_back(sends),
        samples=samples,
        window=(0, seconds(30)),
        round=number,
        others={"faults": [fault]},
    )


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> list[Row]:
    assert spark is not None
    run = write_run(tmp_path_factory.mktemp("joining") / "run", [trial(400, 0), trial(390, 1)])
    analyse(run)
    found: list[Row] = pq.read_table(run / "results" / "faults.parquet").to_pylist()
    return found


def test_a_node_has_its_part_once_it_takes_half_of_the_mean(faults: list[Row]) -> None:
    """400 of (1,000 + 1,000 + 400) / 3 = 800, seen at 20 s; before, 100 of 700."""
    assert faults[0]["share_ns"] == seconds(20) - seconds(ASKED_S)


def test_a_node_that_stays_under_half_of_the_mean_never_has_its_part(faults: list[Row]) -> None:
    """390 of (1,000 + 1,000 + 390) / 3 = 797."""
    assert faults[1]["share_ns"] is None
