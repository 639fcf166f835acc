"""Runs at a URI: what is copied, in which order, and what is left alone. Arrow has file:// as it has s3://."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import EventLogError, SetupError
from bench.run import stored_runs
from bench.run.folder import RunFolder

NAME = "20261128-101500-small-quick"
FILES = (
    "manifest.json",
    "plan.json",
    "results/cases.parquet",
    "pages/0000.html",
    "trials/0000/trial.json",
    "trials/0000/sends/0.parquet",
    "trials/0000/reads/group-1/0.parquet",
)
LOG = {file for file in FILES if file.endswith("0.parquet")}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = tmp_path / "out" / NAME
    for file in (*FILES, ".lock", "trials/.0001/trial.json"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(file, encoding="utf-8")
    return RunFolder(folder)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def store(tmp_path: Path, run: RunFolder) -> str:
    (tmp_path / "store").mkdir()
    uri = f"file://{tmp_path}/store"
    stored_runs.store(run, uri)
    return uri


def test_all_but_what_is_hidden_is_stored(tmp_path: Path, store: str) -> None:
    assert store
    assert files(tmp_path / "store" / NAME) == set(FILES)


@pytest.mark.parametrize("by_name", [True, False])
def test_a_run_is_found_by_its_uri_and_by_its_name(store: str, *, by_name: bool) -> None:
    run, out = (NAME, store) if by_name else (f"{store}/{NAME}", "reports/out")
    with stored_runs.open_run(run, out) as folder:
        assert folder.path.name == NAME
        assert files(folder.path) == set(FILES) - LOG
    assert not folder.path.exists()


def test_the_event_log_comes_where_it_is_needed(store: str) -> None:
    with stored_runs.open_run(NAME, store, event_log=True) as folder:
        assert files(folder.path) == set(FILES)


@pytest.mark.parametrize("event_log", [True, False])
def test_what_a_command_made_goes_back_and_what_it_removed_goes(
    tmp_path: Path, store: str, *, event_log: bool
) -> None:
    with stored_runs.open_run(NAME, store, event_log=event_log, changes=True) as folder:
        (folder.path / "pages" / "0000.html").unlink()
        (folder.path / "report.html").write_text("new", encoding="utf-8")
    stored = tmp_path / "store" / NAME
    assert files(stored) == {*FILES, "report.html"} - {"pages/0000.html"}
    assert (stored / "trials/0000/sends/0.parquet").read_text(
        encoding="utf-8"
    ) == "trials/0000/sends/0.parquet"


def test_nothing_goes_back_after_a_failure(tmp_path: Path, store: str) -> None:
    def broken() -> None:
        with stored_runs.open_run(NAME, store, changes=True) as folder:
            (folder.path / "report.html").write_text("half", encoding="utf-8")
            raise ValueError("no report")

    with pytest.raises(ValueError, match="no report"):
        broken()
    assert files(tmp_path / "store" / NAME) == set(FILES)


def test_a_run_that_was_stored_in_part_is_none(tmp_path: Path, store: str) -> None:
    (tmp_path / "store" / NAME / "manifest.json").unlink()
    with pytest.raises(EventLogError, match="no run folder"), stored_runs.open_run(NAME, store):
        pass


def test_a_folder_of_this_machine_is_used_where_it_is(run: RunFolder, store: str) -> None:
    with stored_runs.open_run(NAME, str(run.path.parent)) as found:
        assert found.path == run.path
    with stored_runs.open_run(str(run.path), store) as found:
        assert found.path == run.path


def test_a_store_that_cannot_be_written_to_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match=r"writing to it at file://.*/file: "):
        stored_runs.require_writable(f"file://{tmp_path}/file")


def test_an_unknown_kind_of_uri_is_refused() -> None:
    with pytest.raises(SetupError, match="ftp://there/runs: Unrecognized filesystem type"):
        stored_runs.require_writable("ftp://there/runs")


def test_a_store_is_left_as_it_was_by_the_try(tmp_path: Path) -> None:
    stored_runs.require_writable(f"file://{tmp_path}")
    assert files(tmp_path) == set()


def test_parameters_of_a_uri_stay_behind_the_name() -> None:
    assert stored_runs._below("s3://b/runs/?scheme=http", "one") == "s3://b/runs/one?scheme=http"
