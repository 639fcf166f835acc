"""What servers and machine did, worked out by hand: one trial of ten seconds, its window from 2 s to 8 s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from tests.eventlog import TrialLog, read_back, sample, seconds, send, write_run

Row = dict[str, Any]

START_S, END_S = 2.0, 8.0


def looked_at() -> TrialLog:
    """100 messages of 100 bytes a second, each acknowledged after 4 ms; two brokers that write each byte once."""
    sends = [send(number, seconds(number / 100), seconds(number / 100 + 0.004)) for number in range(1000)]
    samples = []
    for second in range(11):  # what each had done by then
        # broker-1: 0.25 cores, 10,000 bytes a second; ended by itself between 4 s and 5 s, and counts from 0 again.
        restarts = second >= 5
        samples += [
            sample(second, "broker-1", "cpu_s", (second - 5) * 0.25 if restarts else 100 + second * 0.25),
            sample(second, "broker-1", "disk_write_bytes", (second - 5) * 1e4 if restarts else second * 1e4),
            sample(second, "broker-2", "cpu_s", second * 0.5),
            sample(second, "broker-2", "disk_write_bytes", second * 1e4),
            sample(second, "broker-2", "net_in_bytes", second * 3e4),
            sample(second, "broker-2", "net_out_bytes", second * 1e4),
            sample(second, "producers", "cpu_s", second * 0.2, role="client"),
            sample(second, "consumers", "cpu_s", second * 0.05, role="client"),
            sample(second, "machine", "cpu_busy_s", second * 1.1, role="machine"),
            sample(second, "machine", "cpu_waiting_s", second * 0.4, role="machine"),
            sample(second, "machine", "disk_busy_s", second * 0.3, role="machine"),
            sample(second, "machine", "cores", 2, role="machine", counter=False),
        ]
    # broker-3: 0.3 cores until it is killed after 4 s; two seconds of that are in the window.
    samples += [sample(second, "broker-3", "cpu_s", second * 0.3) for second in range(5)]
    for at_s, times in ((2.0, 0), (4.0, 1)):
        samples += [
            sample(at_s, "broker-3", "flushes", times * 118),
            sample(at_s, "broker-3", "flush_s", times * 118 * 0.0005),
        ]
    # Scraped at the window's start and just before its end only: 600 requests of 3 ms, 1,200 fsyncs of 0.5 ms.
    for at_s, times in ((2.0, 0), (7.9, 1)):
        samples += [
            sample(at_s, "broker-2", "bytes_in", times * 59_000),
            sample(at_s, "broker-2", "requests", 40 + times * 590),
            sample(at_s, "broker-2", "request_s", 1 + times * 590 * 0.003),
            sample(at_s, "broker-2", "flushes", times * 1180),
            sample(at_s, "broker-2", "flush_s", times * 1180 * 0.0005),
        ]
    # broker-4 is asked 1.6 s and 0.4 s before the window, and 0.5 s behind it; the load ended with the window.
    for at_s, collecting_s in ((0.4, 0.0), (1.6, 0.5), (8.5, 1.14)):
        samples.append(sample(at_s, "broker-4", "gc_s", collecting_s))
    return TrialLog(
        sends=sends,
        receives=read_back(sends),
        samples=samples,
        window=(seconds(START_S), seconds(END_S)),
        system="kafka",
        others={"load": {"pacing": "closed", "producers": 2, "window": 1}},
    )


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("telemetry")
    sends = [send(0, 0, 1000)]
    write_run(
        folder, [looked_at(), TrialLog(sends=sends, receives=read_back(sends), system="kafka", round=1)]
    )
    analyse(folder)
    return folder


def rows(run: Path, name: str) -> list[Row]:
    return list(pq.read_table(run / "results" / f"{name}.parquet").to_pylist())


def test_cpu_is_counted_for_servers_client_and_the_rest(run: Path) -> None:
    trial = rows(run, "trials")[0]

    # Of broker-1 nothing is known of the second in which it ended; it began anew at 0 then. broker-3 had 0.6 s of six.
    assert trial["servers_cpu"] == pytest.approx(0.5 + 5 * 0.25 / 6 + 0.1)
    assert (trial["client_cpu"], trial["consumers_cpu"]) == pytest.approx((0.25, 0.05))
    assert trial["machine_cpu_share"] == pytest.approx(1.1 / 2)
    assert trial["other_cpu"] == pytest.approx(1.1 - 0.25 - 0.5 - 5 * 0.25 / 6 - 0.1)
    assert trial["cpu_waiting_share"] == pytest.approx(0.4)


def test_what_a_message_and_a_byte_took(run: Path) -> None:
    trial = rows(run, "trials")[0]

    assert trial["throughput_msgs_per_s"] == pytest.approx(100)
    assert trial["cpu_per_message_ns"] == pytest.approx((0.5 + 5 * 0.25 / 6 + 0.1) / 100 * 1e9)
    assert trial["disk_bytes_per_byte"] == pytest.approx((1e4 + 1e4 * 5 / 6) / 1e4)
    assert trial["network_bytes_per_byte"] == pytest.approx(4.0)


def test_scrapes_at_the_windows_ends_are_enough(run: Path) -> None:
    trial = rows(run, "trials")[0]

    assert trial["request_ns"] == pytest.approx(3_000_000)
    assert trial["flush_ns"] == pytest.approx(500_000)
    # What broker-2 told in 5.9 s it did in each of six; what broker-3 told in 2 s is all that it did.
    assert trial["flushes_per_message"] == pytest.approx((1180 / 5.9 + 118 / 6) / 100)
    # Two nodes share a disk that is busy for 0.3 s of each: each may have used all of them for its half of the fsyncs.
    assert trial["flush_most_ns"] == pytest.approx(2 * 0.3 / (1180 / 5.9 + 118 / 6) * 1e9)


def test_use_adds_up_the_servers_of_a_role(run: Path) -> None:
    found = {row["metric"]: (row["role"], row["nodes"], row["value"]) for row in rows(run, "use")}

    assert found["cpu_s"] == ("broker", 3, pytest.approx(0.5 + 5 * 0.25 / 6 + 0.1))
    assert found["disk_write_bytes"] == ("broker", 2, pytest.approx(1e4 + 1e4 * 5 / 6))
    assert found["flushes"] == ("broker", 2, pytest.approx(1180 / 5.9 + 118 / 6))
    assert {row["trial"] for row in rows(run, "use")} == {0}
    assert rows(run, "costs") == []  # one workload tells nothing


def test_a_server_that_was_asked_around_the_window_did_it_all_by_its_end(run: Path) -> None:
    """0.64 s of garbage collection between 1.6 s and 8 s, when the load was over."""
    assert rows(run, "trials")[0]["gc_share"] == pytest.approx(0.1)


def test_the_verdict_names_what_most_of_a_sends_time_passes_in(run: Path) -> None:
    trial = rows(run, "trials")[0]

    assert trial["bottleneck"] == "broker"
    assert trial["bottleneck_evidence"] == (
        "of 4 ms that a send took on average, 3 ms passed in the broker; the cores were 55 % busy"
    )
    assert rows(run, "cases")[0]["bottleneck"] == "broker 1, unknown 1"


def test_a_trial_that_nobody_looked_at_says_so(run: Path) -> None:
    trial = rows(run, "trials")[1]

    assert trial["bottleneck"] == "unknown"
    assert trial["bottleneck_evidence"] == "there is no telemetry of it"
    assert trial["cpu_per_message_ns"] is None


def test_the_table_has_rates_for_counters_and_levels_as_they_were(run: Path) -> None:
    table = rows(run, "telemetry")

    assert {row["trial"] for row in table} == {0}
    assert [row["value"] for row in table if row["metric"] == "cores"] == [2.0] * 11
    cpu = [row["value"] for row in table if (row["node"], row["metric"]) == ("broker-1", "cpu_s")]
    assert cpu == pytest.approx([0.25] * 4 + [0.0] + [0.25] * 5)
    written = [
        row["at_ns"] for row in table if (row["node"], row["metric"]) == ("broker-2", "disk_write_bytes")
    ]
    assert written == [seconds(second) for second in range(1, 11)]
