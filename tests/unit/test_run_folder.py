import json
import os
from pathlib import Path

import pytest

from bench import durable_files
from bench.errors import EventLogError
from bench.model import Verdict
from bench.records.trial import CaseRecord, LoadRecord, TrialRecord
from bench.run.folder import RunFolder, create, find


def failed(number: int) -> TrialRecord:
    return TrialRecord(
        format=2,
        trial=number,
        round=0,
        case=CaseRecord(system="memory", name="memory", settings={}),
        load=LoadRecord(pacing="closed"),
        state="failed",
        verdict=Verdict.INVALID,
    )


def test_a_trial_is_seen_only_once_it_is_whole(tmp_path: Path) -> None:
    folder = create(tmp_path, "acks-sweep", "quick")
    working = folder.open_trial(3)

    assert folder.done_trials() == set()
    assert (working / "sends").is_dir()

    folder.close_trial(failed(3))

    assert folder.done_trials() == {3}
    assert folder.read("trials/0003/trial.json")["trial"] == 3


def test_what_an_interrupted_run_left_is_swept(tmp_path: Path) -> None:
    folder = create(tmp_path, "acks-sweep", "quick")
    folder.open_trial(0)
    (folder.nodes / "00-kafka").mkdir(parents=True)

    folder.sweep()

    assert list(folder.trials.iterdir()) == []
    assert not folder.nodes.exists()


def test_two_runs_of_one_second_get_two_folders(tmp_path: Path) -> None:
    assert create(tmp_path, "a", "quick").path != create(tmp_path, "a", "quick").path


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EventLogError, match="no run folder"):
        find("nothing", tmp_path)


def test_a_document_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{", encoding="utf-8")

    with pytest.raises(EventLogError, match=r"plan\.json: not readable as JSON"):
        RunFolder(tmp_path).read("plan.json")


def test_a_trial_is_durable_before_it_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = create(tmp_path, "acks-sweep", "quick")
    working = run.open_trial(0)
    (working / "sends" / "a.parquet").touch()
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(Path(f"/proc/self/fd/{handle}").readlink()))

    run.close_trial(failed(0))

    assert synced[0] == working / "sends" / "a.parquet"
    assert set(synced[1:3]) == {working / "sends", working / "receives"}
    assert synced[3:] == [working / ".trial.json", working, run.trials]


def test_a_trial_that_failed_before_it_began_is_stored_all_the_same(tmp_path: Path) -> None:
    folder = create(tmp_path, "test", "quick")

    folder.close_trial(failed(0))

    assert json.loads((folder.trials / "0000" / "trial.json").read_text())["state"] == "failed"


def _break_off(file: Path) -> None:
    with durable_files.replace_file(file) as hidden:
        hidden.write_text("half", encoding="utf-8")
        raise OSError("disk full")


def test_a_file_that_could_not_be_written_is_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text("before", encoding="utf-8")

    with pytest.raises(OSError, match="disk full"):
        _break_off(file)

    assert file.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [file]
