"""What a sliced trial took is its own, and not its neighbours': figures worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from tests.eventlog import TrialLog, cut, in_slice, read_back, sample, seconds, send, write_run

Row = dict[str, Any]

CYCLES = 3
LOAD_S = 0.6
"""100 ms of lead-in, and 500 ms that count."""
BEFORE_S, AFTER_S = 0.02, 0.03
"""So long before the load and after it everybody is looked at; the servers are asked ten times as far off."""

CALM = {"cpu_busy_s": 0.4, "disk_busy_s": 0.1, "cpu_s": 0.2, "disk_write_bytes": 2e4}
BUSY = {"cpu_busy_s": 2.0, "disk_busy_s": 1.0, "cpu_s": 1.5, "disk_write_bytes": 9e9}
"""What grows by how much in each second in which the case or its neighbour is loaded; nothing grows without load."""
ASKED = {"requests": 100, "request_s": 0.2, "flushes": 50, "flush_s": 0.05}


def begun_s(cycle: int, place: int) -> float:
    return 10.0 + 2 * cycle + place


def sends(place: int) -> list[Row]:
    """100 messages of 100 bytes in each second of load, each acknowledged after 4 ms, one after the other."""
    return [
        send(60 * cycle + number, at_ns, at_ns + 4_000_000, slice=cycle)
        for cycle in range(CYCLES)
        for number in range(60)
        for at_ns in [seconds(begun_s(cycle, place) + number / 100)]
    ]


def looks(place: int) -> list[Row]:
    """Counters go on through all slices: the case is first in each cycle, its busy neighbour second."""
    samples = []
    for cycle in range(CYCLES):
        begun, rates = begun_s(cycle, place), (CALM, BUSY)[place]
        for name in rates:
            node, role = ("broker-1", "broker") if name in {"cpu_s", "disk_write_bytes"} else ("machine",) * 2
            before = LOAD_S * (cycle * (CALM[name] + BUSY[name]) + place * CALM[name])
            after = before + LOAD_S * rates[name]
            samples += in_slice(
                cycle,
                [
                    sample(begun - BEFORE_S, node, name, before, role=role),
                    sample(begun + LOAD_S + AFTER_S, node, name, after, role=role),
                ],
            )
        cores = sample(begun - BEFORE_S, "machine", "cores", 2, role="machine", counter=False)
        samples += in_slice(cycle, [cores])
    return samples


def answers() -> list[Row]:
    """The server is asked around the first and the last slice of the case; a million times as much goes on between."""
    return [
        sample(at_s, "broker-1", name, cycle * 1e6 + grown * rate * LOAD_S) | {"slice": cycle}
        for cycle in (0, 2)
        for name, rate in ASKED.items()
        for grown, at_s in (
            (0, begun_s(cycle, 0) - 10 * BEFORE_S),
            (1, begun_s(cycle, 0) + LOAD_S + 10 * AFTER_S),
        )
    ]


SLOW_S = 1.2
"""Twice the load: so long after its begin the last send of a slice on slow servers has ended."""


def slow_sends() -> list[Row]:
    """In each slice a send that ends while the load runs, and one that takes until the servers have caught up."""
    return [
        send(
            2 * cycle + number,
            seconds(begun_s(cycle, 0) + 0.2),
            seconds(begun_s(cycle, 0) + end_s),
            slice=cycle,
        )
        for cycle in range(CYCLES)
        for number, end_s in enumerate((0.4, SLOW_S))
    ]


def slow_looks() -> list[Row]:
    """Both cores are busy until the last send has ended."""
    samples = []
    for cycle in range(CYCLES):
        begun, grown = begun_s(cycle, 0), 2 * SLOW_S
        times = (begun - BEFORE_S, begun + SLOW_S + AFTER_S)
        samples += in_slice(
            cycle,
            [
                *(
                    sample(at_s, "machine", "cpu_busy_s", grown * (cycle + number), role="machine")
                    for number, at_s in enumerate(times)
                ),
                sample(times[0], "machine", "cores", 2, role="machine", counter=False),
            ],
        )
    return samples


def trial(place: int, case: str, samples: list[Row], rows: list[Row] | None = None) -> TrialLog:
    slices = [
        cut(cycle, cycle, begun_s(cycle, place), begun_s(cycle, place) + 0.1, begun_s(cycle, place) + LOAD_S)
        for cycle in range(CYCLES)
    ]
    load = {"pacing": "closed", "producers": 1, "window": 1, "warm_up_s": 0.1, "duration_s": 0.5}
    rows = rows or sends(place)
    return TrialLog(
        rows,
        read_back(rows),
        samples,
        settings={"name": case},
        system="kafka",
        slices=slices,
        others={"load": load, "logs": "01"},
    )


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slice_telemetry")
    write_run(
        folder,
        [
            trial(0, "calm", [*looks(0), *answers()]),
            trial(1, "busy", looks(1)),
            trial(0, "slow", slow_looks(), slow_sends()),
        ],
    )
    analyse(folder)
    return folder


def rows(run: Path, name: str) -> list[Row]:
    return list(pq.read_table(run / "results" / f"{name}.parquet").to_pylist())


def test_a_case_has_the_cpu_and_the_disk_of_its_own_slices(run: Path) -> None:
    calm, busy, _ = rows(run, "trials")
    assert (calm["machine_cpu_share"], calm["machine_disk_share"]) == pytest.approx((0.2, 0.1))
    assert (busy["machine_cpu_share"], busy["machine_disk_share"]) == pytest.approx((1.0, 1.0))
    assert (calm["servers_cpu"], busy["servers_cpu"]) == pytest.approx((0.2, 1.5))


def test_what_servers_do_after_the_load_is_spread_over_the_time_until_the_last_send_has_ended(
    run: Path,
) -> None:
    """Both cores were busy for 1.2 s in each slice: that is all of the machine, not twice as much."""
    *_, slow = rows(run, "trials")
    assert slow["machine_cpu_share"] == pytest.approx(1.0)


def test_what_a_message_took_is_over_the_slices(run: Path) -> None:
    calm, *_ = rows(run, "trials")
    assert calm["throughput_msgs_per_s"] == pytest.approx(100)
    assert calm["cpu_per_message_ns"] == pytest.approx(0.2 / 100 * 1e9)
    assert calm["disk_bytes_per_byte"] == pytest.approx(2e4 / 1e4)


def test_what_servers_were_asked_for_grew_while_the_load_ran_in_the_slices_around_which_they_were(
    run: Path,
) -> None:
    calm, busy, _ = rows(run, "trials")
    assert calm["flushes_per_message"] == pytest.approx(0.5)
    assert (calm["flush_ns"], calm["request_ns"]) == pytest.approx((1_000_000, 2_000_000))
    assert calm["flush_share"] == pytest.approx(0.05)
    assert busy["flushes_per_message"] is None


def test_the_verdict_is_the_cases_own(run: Path) -> None:
    calm, busy, _ = rows(run, "trials")
    assert busy["bottleneck"] == "cpu"
    assert calm["bottleneck"] == "unknown"
    assert calm["bottleneck_evidence"] == (
        "of 4 ms that a send took on average, 2 ms passed in the broker; the cores were 20 % busy"
    )


def test_the_table_has_no_rate_from_one_slice_to_the_next(run: Path) -> None:
    table = [row for row in rows(run, "telemetry") if (row["trial"], row["metric"]) == (0, "cpu_busy_s")]
    assert [row["value"] for row in table] == pytest.approx([0.4] * CYCLES)
    assert [row["value"] for row in rows(run, "telemetry") if row["metric"] == "flushes"] == pytest.approx(
        [50.0] * 2
    )
