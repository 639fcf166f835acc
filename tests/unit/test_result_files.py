from __future__ import annotations

from pathlib import Path

import pytest

from bench.analysis.tables import TIMELINE, case_fields, table, trial_fields
from bench.durable import replacing_folder
from bench.errors import AnalysisError


def test_new_results_take_the_place_of_old_ones(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    results.joinpath("old.csv").touch()
    with replacing_folder(results) as fresh:
        fresh.joinpath("new.csv").touch()
    assert [path.name for path in results.iterdir()] == ["new.csv"]
    assert list(tmp_path.iterdir()) == [results]


def _break_off(results: Path) -> None:
    with replacing_folder(results) as fresh:
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
    with replacing_folder(tmp_path / "results") as fresh:
        assert fresh.name.startswith(".")
        assert not tmp_path.joinpath("results").exists()


def test_what_a_row_lacks_is_null() -> None:
    found = table([{"trial": 1, "second": 0}], TIMELINE)
    assert found["acked"].to_pylist() == [None]
    assert found.column_names == list(TIMELINE)


def test_settings_stand_between_what_a_row_is_and_what_it_measured() -> None:
    names = list(trial_fields(["acks", "min.insync.replicas"]))
    assert names[6:10] == ["reason", "acks", "min.insync.replicas", "window_s"]
    assert list(case_fields(["acks"]))[:4] == ["system", "case", "acks", "rounds"]


def test_a_setting_with_the_name_of_a_column_is_refused() -> None:
    with pytest.raises(AnalysisError, match="the swept setting 'received' has the name of another column"):
        trial_fields(["received"])
