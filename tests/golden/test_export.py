"""A run for other people's tools, worked out by hand: a window of 25 s, a message a second, each a little slower."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse, export
from bench.analysis.exchange import omb_files
from bench.errors import AnalysisError, EventLogError, NotComparableError
from bench.report import results
from bench.run import run_comparison
from tests.eventlog import TrialLog, read_back, receive, seconds, send, write_run

Row = dict[str, Any]


def steady() -> TrialLog:
    """The nth send, at n seconds, is acknowledged after n + 1 ms and seen after n + 2; the 12th fails."""
    sends = [
        send(number, seconds(number), seconds(number) + (number + 1) * 1_000_000) for number in range(25)
    ]
    sends[12] |= {"outcome": "fail", "error": "GONE"}
    live = [receive("live", row, row["done_ns"] + 1_000_000) for row in sends if row["outcome"] == "ok"]
    stored = read_back([row for row in sends if row["outcome"] == "ok"])
    return TrialLog(sends=sends, receives=[*live, *stored], window=(0, seconds(25)), settings={"acks": 1})


def astray() -> TrialLog:
    """The same in a second round, and a message that nobody sent: the trial is invalid, whatever trial.json says."""
    once = steady()
    foreign = read_back([send(99, seconds(1), seconds(2))])
    return replace(once, receives=[*(once.receives or ()), *foreign], round=1)


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_run(tmp_path_factory.mktemp("runs") / "run", [steady(), astray()])
    analyse(folder)
    return folder


@pytest.fixture(scope="module")
def exported(run: Path) -> Path:
    to = run / "export"
    export(run, to)
    return to


@pytest.fixture(scope="module")
def result(exported: Path) -> Row:
    (file,) = (exported / "omb").glob("*.json")
    assert file.name == "0000-memory-acks=1.json"  # the invalid trial has none
    found: Row = json.loads(file.read_text())
    return found


def test_rates_are_those_of_equal_periods_of_about_ten_seconds(result: Row, exported: Path) -> None:
    assert result["workload"] == "test"
    assert result["driver"] == "memory acks=1"
    assert (result["messageSize"], result["producersPerTopic"], result["topics"]) == (100, 1, 1)
    # Three of 8.3 s: sends 0 to 8, 9 to 16, 17 to 24, each acknowledged some ms after the second it is made in.
    assert result["publishRate"] == pytest.approx([9 * 3 / 25, 7 * 3 / 25, 8 * 3 / 25])
    assert result["publishErrorRate"] == pytest.approx([0.0, 3 / 25, 0.0])
    assert result["consumeRate"] == pytest.approx(result["publishRate"])
    assert result["backlog"] == [0, 0, 0]
    _, length = (exported / "omb" / "periods.csv").read_text().splitlines()
    assert length == f"0000-memory-acks=1.json,{25 / 3}"


def test_percentiles_are_in_milliseconds_by_period_and_over_all(result: Row) -> None:
    # Of 1 to 9 the 5th; of 10 to 17 without 13 the 4th; of 18 to 25 the 4th.
    assert result["publishLatency50pct"] == [5.0, 14.0, 21.0]
    assert result["publishLatencyMax"] == [9.0, 17.0, 25.0]
    assert result["publishLatencyAvg"] == pytest.approx([5.0, 95 / 7, 21.5])
    assert result["endToEndLatency95pct"] == [10.0, 18.0, 26.0]
    assert result["aggregatedPublishLatencyMax"] == 25.0
    assert result["aggregatedPublishLatency50pct"] == 12.0  # the 12th of 24
    assert result["aggregatedPublishLatencyQuantiles"]["100.0"] == 25.0
    assert result["aggregatedPublishDelayLatencyMax"] == 0


def test_the_tidy_table_has_a_row_a_trial_and_metric(exported: Path) -> None:
    with (exported / "tidy.csv").open() as file:
        every = list(csv.DictReader(file))

    rows = [row for row in every if row["trial"] == "0"]
    assert {(row["trial"], row["verdict"]) for row in every} == {("0", "valid"), ("1", "invalid")}
    found = {row["metric"]: row for row in rows}
    assert len(found) == len(rows)
    assert (found["throughput_msgs_per_s"]["value"], found["throughput_msgs_per_s"]["unit"]) == (
        "0.96",
        "messages/s",
    )
    assert (found["service_max_ns"]["value"], found["service_max_ns"]["unit"]) == ("25000000", "ns")
    assert (found["failed"]["value"], found["failed"]["unit"]) == ("1", "count")
    assert {row["acks"] for row in rows} == {"1"}
    assert {(row["bottleneck"], row["flags"], row["fsync_ns"]) for row in rows} == {("unknown", "trend", "")}
    assert found["drift"]["unit"] == "1"


def test_what_was_exported_reads_in_as_a_run_and_compares(run: Path, exported: Path, tmp_path: Path) -> None:
    omb_files.write(omb_files.read(omb_files.files_in(exported / "omb")), tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 1, "run": "omb", "expectations": []}')

    (trial,) = results.read(tmp_path).trials.to_dict("records")
    assert (trial["system"], trial["case"]) == ("memory", "memory acks=1")
    assert trial["throughput_msgs_per_s"] == pytest.approx(0.96)
    assert trial["window_s"] == 25.0
    assert trial["service_p50_ns"] == 12_000_000
    assert trial["e2e_max_ns"] == 26_000_000

    with pytest.raises(NotComparableError, match="--accept case"):
        run_comparison.compare(tmp_path, run, run_comparison.ComparisonRule("service_p50_ns", 0.05))
    anything = ("scenario", "profile", "seed", "case")
    comparison = run_comparison.compare(
        tmp_path, run, run_comparison.ComparisonRule("service_p50_ns", 0.05, anything)
    )
    assert [case.ratio for case in comparison.cases] == [pytest.approx(1.0)]


def test_a_driver_of_the_benchmark_is_compared_with_the_case_that_it_is_said_to_be(
    run: Path, exported: Path, tmp_path: Path
) -> None:
    (file,) = omb_files.files_in(exported / "omb")
    file.write_text(file.read_text().replace('"memory acks=1"', '"Kafka"'))
    omb_files.write(omb_files.read([file]), tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 1, "run": "omb", "expectations": []}')
    anything = ("scenario", "profile", "seed", "case")

    def compare(**match: str) -> list[float | None]:
        rule = run_comparison.ComparisonRule("service_p50_ns", 0.05, anything, match)
        return [case.ratio for case in run_comparison.compare(run, tmp_path, rule).cases]

    with pytest.raises(
        NotComparableError, match="no case is in both runs: the first has memory acks=1, the second Kafka"
    ):
        compare()
    with pytest.raises(NotComparableError, match="the second run has no case 'Pulsar'; it has Kafka"):
        compare(**{"memory acks=1": "Pulsar"})
    with pytest.raises(NotComparableError, match="the first run has no case 'memory'; it has memory acks=1"):
        compare(memory="Kafka")
    assert compare(**{"memory acks=1": "Kafka"}) == [pytest.approx(1.0)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", r"a\.json: it is not JSON"),
        ('{"workload": "w"}', r"a\.json: driver: Field required; is it a result file"),
    ],
)
def test_a_file_that_is_no_result_is_named(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "a.json").write_text(content)

    with pytest.raises(EventLogError, match=said):
        omb_files.read(omb_files.files_in(tmp_path))


def test_an_empty_folder_and_a_run_without_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EventLogError, match="there is no result file"):
        omb_files.files_in(tmp_path)
    write_run(tmp_path / "run", [TrialLog()])
    with pytest.raises(AnalysisError, match="has no results yet: bench report"):
        export(tmp_path / "run", tmp_path / "to")
