from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.analysis.tables import fields, write_rows
from bench.columns import FAULT_METRICS, METRICS, READING_METRICS, TABLES, TRANSFER_METRICS
from bench.columns.page import page
from bench.durable_files import replace_folder
from bench.errors import AnalysisError


def test_new_results_take_the_place_of_old_ones(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    results.joinpath("old.csv").touch()
    with replace_folder(results) as fresh:
        fresh.joinpath("new.csv").touch()
    assert [path.name for path in results.iterdir()] == ["new.csv"]
    assert list(tmp_path.iterdir()) == [results]


def _break_off(results: Path) -> None:
    with replace_folder(results) as fresh:
        fresh.joinpath("new.csv").touch()
        raise OSError("disk full")


def test_results_stay_as_they_were_when_writing_fails(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    results.joinpath("old.csv").touch()
    with pytest.raises(OSError, match="disk full"):
        _break_off(results)
    assert [path.name for path in results.iterdir()] == ["old.csv"]
    assert list(tmp_path.iterdir()) == [results]


def test_nobody_sees_results_that_are_being_written(tmp_path: Path) -> None:
    with replace_folder(tmp_path / "results") as fresh:
        assert fresh.name.startswith(".")
        assert not tmp_path.joinpath("results").exists()


def test_what_a_row_lacks_is_null(tmp_path: Path) -> None:
    write_rows(tmp_path, "timeline", [{"trial": 1, "second": 0}])
    table = pq.read_table(tmp_path / "timeline.parquet")
    assert table["acked"].to_pylist() == [None]
    assert table.column_names == list(fields("timeline"))


def test_settings_stand_between_what_a_row_is_and_what_it_measured() -> None:
    names = list(fields("trials", ["acks", "min.insync.replicas"]))
    assert names[6:10] == ["reason", "acks", "min.insync.replicas", "window_s"]
    assert list(fields("cases", ["acks"]))[:4] == ["system", "case", "acks", "rounds"]


def test_a_setting_with_the_name_of_a_column_is_refused() -> None:
    with pytest.raises(AnalysisError, match="the swept setting 'received' has the name of another column"):
        fields("trials", ["received"])


def test_no_column_of_a_table_is_declared_twice() -> None:
    for table in TABLES.values():
        names = [column.name for column in table.columns]
        assert len(names) == len(set(names)), table.name


def test_what_expectations_may_speak_of_are_columns_of_their_tables() -> None:
    groups = {
        "trials": METRICS,
        "faults": FAULT_METRICS,
        "readings": READING_METRICS,
        "transfers": TRANSFER_METRICS,
    }
    for table, metrics in groups.items():
        assert set(metrics) <= set(fields(table)), table


def test_the_page_of_tables_is_that_of_the_declared_columns() -> None:
    """Renew it: make generated."""
    assert (Path(__file__).resolve().parents[2] / "docs" / "tables.md").read_text(encoding="utf-8") == page()
