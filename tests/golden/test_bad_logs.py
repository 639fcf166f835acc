"""Logs whose fault only shows once the rows are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from bench.errors import AnalysisError, EventLogError
from tests.eventlog import TrialLog, receive, send, write_run


def test_an_outcome_that_there_is_not_is_named(spark: SparkSession, tmp_path: Path) -> None:
    run = write_run(tmp_path, [TrialLog([send(0, 1, 2, outcome="maybe")], [])])
    with pytest.raises(
        EventLogError, match=r"0000/sends: column outcome holds 'maybe', expected one of ok, fail"
    ):
        analyse(run)
    assert not run.joinpath("results").exists()


def test_a_stage_that_there_is_not_is_named(spark: SparkSession, tmp_path: Path) -> None:
    sent = send(0, 1, 2)
    run = write_run(tmp_path, [TrialLog([sent], [receive("replay", sent, 3)])])
    with pytest.raises(EventLogError, match="column stage holds 'replay', expected one of live, verify"):
        analyse(run)


def test_a_file_with_garbled_pages_is_an_error_of_one_line(spark: SparkSession, tmp_path: Path) -> None:
    run = write_run(tmp_path, [TrialLog([send(i, i, i + 1) for i in range(100)], [])])
    file = run / "trials" / "0000" / "sends" / "0.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:4] + b"\x55" * 600 + whole[604:])
    with pytest.raises(AnalysisError, match=r"analysing .*: Spark gave up: .*") as caught:
        analyse(run)
    assert "\n" not in str(caught.value)
