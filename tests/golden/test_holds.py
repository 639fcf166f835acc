"""Rates held in searches for capacity, their results worked out by hand. One run holds them all, analysed once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from bench.analysis.live_figures import figures
from tests.eventlog import TrialLog, cut, in_slice, read_back, receive, sample, seconds, send, write_run

Row = dict[str, Any]

LEVEL = {"response_p99_s": 0.05, "end_to_end_p99_s": 0.1, "search_s": 4.0, "confirm_s": 4.0, "settle_s": 1.0}
LOAD = {
    "producers": 1,
    "consumers": 1,
    "message_bytes": 100,
    "pacing": "closed",
    "window": 1,
    "warm_up_s": 0.1,
}


def held(number: int, rate: int, begun_s: float, *, confirms: bool) -> Row:
    """A rate held for a second that does not count and four that do."""
    span = cut(number, 0, begun_s, begun_s + 1, begun_s + 5)
    return span | {"rate": float(rate), "confirms": confirms, "client_cpu_share": 0.5}


def sends_of(hold: Row, first: int, late_every: int) -> list[Row]:
    """All that is due in a hold, each acknowledged after 1 ms, or 51 ms where its turn is a late one."""
    begun, rate = hold["begun_ns"], int(hold["rate"])
    times = [begun + place * seconds(1) // rate for place in range(5 * rate)]
    services = [51 if late_every and place % late_every == 0 else 1 for place in range(5 * rate)]
    return in_slice(
        hold["slice"],
        [
            send(first + place, due, due + seconds(service / 1000))
            for place, (due, service) in enumerate(zip(times, services, strict=True))
        ],
    )


def looks(hold: Row, used_s: float) -> list[Row]:
    """Looks at two brokers and a client 10 ms before a hold and 90 ms after it; each used so many CPU seconds."""
    begun_s, end_s = hold["begun_ns"] / 1e9 - 0.01, hold["end_ns"] / 1e9 + 0.09
    seen = [
        sample(at_s, node, "cpu_s", 7.0 + grown, role=role)
        for node, role in (("broker-1", "broker"), ("broker-2", "broker"), ("producers", "client"))
        for at_s, grown in ((begun_s, 0.0), (end_s, used_s))
    ]
    return in_slice(hold["slice"], seen)


def searched(round_number: int, rate: int) -> TrialLog:
    """One slice of a closed loop, then two rates: the first keeps its level, in the second every tenth is late.

    Consumers have the first rate's messages after 2 ms; of the second rate's they miss one, and have the rest late.
    """
    first, second = held(1, rate, 10.0, confirms=True), held(2, 2 * rate, 20.0, confirms=True)
    closed = in_slice(0, [send(0, seconds(1.2), seconds(1.3))])
    passing = sends_of(first, 1, 0)
    failing = sends_of(second, 1 + len(passing), 10)
    live = [receive("live", row, row["due_ns"] + seconds(0.002)) for row in passing]
    live += [receive("live", row, row["due_ns"] + seconds(0.101)) for row in failing[:-1]]
    sends = [*closed, *passing, *failing]
    return TrialLog(
        sends,
        [*live, *read_back(sends)],
        [*looks(first, 1.0), *looks(second, 1.8)],
        round=round_number,
        slices=[cut(0, 0, 1.0, 1.1, 1.6)],
        configuration={"capacity": LEVEL},
        others={
            "load": LOAD | {"duration_s": 0.5, "messages": None},
            "holds": [
                first | ({"late_copies_share": 0.004} if round_number else {}),
                second | ({"copies_missing": True} if round_number else {}),
            ],
            "node_size": {"measured": {"broker-1": {"cpu": 0.45}, "broker-2": {"cpu": 0.35}}},
        },
    )


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    trials = [searched(number, rate) for number, rate in enumerate((100, 110, 121))]
    folder = write_run(tmp_path_factory.mktemp("holds"), trials)
    analyse(folder)
    return folder


def table(run: Path, name: str) -> list[Row]:
    rows: list[Row] = pq.read_table(run / "results" / f"{name}.parquet").to_pylist()
    return rows


def test_every_held_rate_is_counted_from_its_own_slice(run: Path) -> None:
    first, second, *_ = table(run, "holds")
    names = ("trial", "slice", "rate", "seconds", "confirms", "due", "sent", "failed")
    assert [first[name] for name in names] == [0, 1, 100.0, 4.0, True, 400, 400, 0]
    assert [second[name] for name in names] == [0, 2, 200.0, 4.0, True, 800, 800, 0]
    assert (first["late"], first["late_end_to_end"]) == (0, 0)
    assert (second["late"], second["late_end_to_end"]) == (80, 800)
    assert (first["verdict"], second["verdict"]) == ("passed", "failed")
    assert "10%" in second["reason"].replace(" ", "")


def test_a_hold_says_whether_copies_were_missing_at_its_end(run: Path) -> None:
    """Nobody asked in the first trial, as in logs of older versions."""
    assert [row["copies_missing"] for row in table(run, "holds")] == [None, None, None, True, None, True]


def test_a_hold_says_how_many_copies_were_late(run: Path) -> None:
    shares = [row["late_copies_share"] for row in table(run, "holds")]
    assert shares == [None, None, 0.004, None, 0.004, None]


def test_times_of_a_held_rate_count_from_when_messages_were_due(run: Path) -> None:
    """Of the 800 messages of the second 80 take 51 ms, which is its p99; the one without a consumer is above it."""
    first, second, *_ = table(run, "holds")
    times = ("response_p50_ns", "response_p99_ns", "end_to_end_p50_ns", "end_to_end_p99_ns")
    assert [first[name] for name in times] == [seconds(s) for s in (0.001, 0.001, 0.002, 0.002)]
    assert [second[name] for name in times] == [seconds(s) for s in (0.001, 0.051, 0.101, 0.101)]


def test_the_cpu_of_a_role_is_a_share_of_what_its_nodes_have(run: Path) -> None:
    """Two brokers used 1.0 s each in 5 s of load, so 0.4 of their 0.8 cores; then 1.8 s each: 0.72 of 0.8."""
    first, second, *_ = table(run, "holds")
    assert (first["broker_cpu_share"], first["bookie_cpu_share"]) == (pytest.approx(0.5), None)
    assert second["broker_cpu_share"] == pytest.approx(0.9 * 5 / 5.001)  # its last send ended 1 ms late


def test_what_was_seen_around_holds_is_in_no_other_figure(run: Path) -> None:
    assert table(run, "telemetry") == table(run, "use") == []
    assert table(run, "trials")[0]["servers_cpu"] is None


def test_backlogs_that_stay_as_they_are_do_not_grow(run: Path) -> None:
    first, second, *_ = table(run, "holds")
    assert first["producers_growth"] == pytest.approx(0, abs=1e-9)
    assert first["consumers_growth"] == pytest.approx(0, abs=1e-9)
    assert second["consumers_growth"] == pytest.approx(0, abs=1)


def test_the_capacity_lies_between_the_medians_over_starts(run: Path) -> None:
    """Passed 100, 110, 121 and failed 200, 220, 242; the interval is that of test_capacity's by-hand example."""
    (row,) = table(run, "capacities")
    assert (row["system"], row["starts"]) == ("memory", 3)
    assert (row["passed_rate"], row["failed_rate"]) == (110.0, 220.0)
    assert row["low"] == pytest.approx(110 / 1.2671, rel=1e-3)
    assert row["high"] == pytest.approx(220 * 1.2671, rel=1e-3)


def test_held_rates_are_in_the_account_and_in_no_throughput(run: Path) -> None:
    row = table(run, "trials")[0]
    assert (row["verdict"], row["sent"], row["acked"], row["lost"]) == ("valid", 1501, 1501, 0)
    assert (row["slices"], row["throughput_msgs_per_s"]) == (1, 2.0)


def test_a_run_that_goes_on_decides_by_the_same_capacity(run: Path) -> None:
    row = table(run, "trials")[1]
    assert row["capacity_msgs_per_s"] == pytest.approx((110 * 220) ** 0.5)
    assert figures(run / "trials" / "0001").row["capacity_msgs_per_s"] == row["capacity_msgs_per_s"]
