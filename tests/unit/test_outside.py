"""What the half of a run outside of the sandbox does when the half inside is through."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.backends import sandbox
from bench.errors import AnalysisError, EventLogError, SetupError
from bench.model import Verdict
from bench.records.trial import CaseRecord, LoadRecord, TrialRecord
from bench.run import machine_lock, outside, stored_runs
from bench.run.folder import RunFolder

SCENARIO = """\
name: short
title: A short run
question: What if the report fails?
systems: {memory: {}}
duration: 1s
"""


def test_a_report_that_fails_says_that_the_measurements_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: object) -> None:
        raise AnalysisError("Spark could not start.")

    (tmp_path / "short.yaml").write_text(SCENARIO)
    monkeypatch.setattr(sandbox, "run", lambda *_, **__: 0)
    monkeypatch.setattr(outside, "report", fails)

    with pytest.raises(AnalysisError, match="Spark could not start"):
        outside.start(
            outside.prepare(str(tmp_path / "short.yaml"), "standard", (), 1), tmp_path / "out", web=False
        )

    (run,) = (tmp_path / "out").iterdir()
    assert f"bench report {run}" in capsys.readouterr().err


@pytest.mark.parametrize(("verdicts", "status"), [(("invalid", "valid"), 0), (("invalid", "invalid"), 1)])
def test_the_exit_status_goes_by_the_verdicts_of_the_report(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verdicts: tuple[str, str],
    status: int,
) -> None:
    """The analysis calls a trial invalid in which it finds what nobody sent, whatever trial.json says."""

    def ran(_: str, arguments: list[str], *__: object, **___: object) -> int:
        trials = RunFolder(Path(arguments[0]))
        for number in range(len(verdicts)):
            trials.open_trial(number)
            trials.close_trial(
                TrialRecord(
                    format=2,
                    trial=number,
                    round=0,
                    case=CaseRecord(system="memory", name="memory", settings={}),
                    load=LoadRecord(pacing="closed"),
                    state="finished",
                    verdict=Verdict.VALID,
                )
            )
        return 0

    def judged(folder: RunFolder) -> None:
        results = folder.path / "results"
        results.mkdir()
        pq.write_table(
            pa.table({"case": ["memory"] * 2, "verdict": list(verdicts)}), results / "trials.parquet"
        )

    (tmp_path / "short.yaml").write_text(SCENARIO)
    monkeypatch.setattr(sandbox, "run", ran)
    monkeypatch.setattr(outside, "report", judged)
    chosen = outside.prepare(str(tmp_path / "short.yaml"), "standard", (), 1)

    assert outside.start(chosen, tmp_path / "out", web=False) == status
    assert ("no trial of memory is valid" in capsys.readouterr().err) == bool(status)


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run that was stopped before its first trial."""
    (tmp_path / "short.yaml").write_text(SCENARIO)
    monkeypatch.setattr(sandbox, "run", lambda *_, **__: 130)
    chosen = outside.prepare(str(tmp_path / "short.yaml"), "standard", (), 1)
    assert outside.start(chosen, tmp_path / "out", web=False) == 130
    (path,) = (tmp_path / "out").iterdir()
    return RunFolder(path)


def test_a_run_is_gone_on_with_where_it_was_begun(begun: RunFolder) -> None:
    assert outside.resume(begun, web=False) == 130


@pytest.mark.parametrize(("key", "name"), [("bench", "git"), ("versions", "java"), ("machine", "idle_cores")])
def test_a_run_is_not_gone_on_with_on_other_ground(begun: RunFolder, key: str, name: str) -> None:
    before = begun.read("manifest.json")[key]
    begun.amend("manifest.json", **{key: {**before, name: "another"}})

    with pytest.raises(EventLogError, match=f"{key} {name} was another and is"):
        outside.resume(begun, web=False)


def test_a_run_folder_is_left_to_the_process_that_runs_it(begun: RunFolder) -> None:
    begun.amend("manifest.json", ended_utc="2026-11-21T12:41:00Z")
    before = begun.read("manifest.json")

    with machine_lock.on_folder(begun), pytest.raises(SetupError, match="is in use by process"):
        outside.resume(begun, web=False)

    assert begun.read("manifest.json") == before

    assert outside.resume(begun, web=False) == 130


@pytest.mark.parametrize("ended", [None, "2026-11-21T12:41:00Z"])
def test_a_run_that_was_stopped_is_not_moved_to_a_store(
    begun: RunFolder, monkeypatch: pytest.MonkeyPatch, ended: str | None
) -> None:
    """Not either where it had ended once and went on."""
    monkeypatch.setattr(stored_runs, "require_writable", lambda _: None)
    begun.amend("manifest.json", ended_utc=ended)

    assert outside.resume(begun, web=False, budget_s=60.0, store="s3://runs/nightly") == 130

    assert begun.read("manifest.json")["ended_utc"] is None


def test_two_clusters_do_not_run_beside_each_other(
    begun: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes second has left nothing behind; without servers they do not disturb each other."""
    monkeypatch.setattr(machine_lock, "cache_root", lambda: tmp_path / "cache")
    (tmp_path / "servers.yaml").write_text(SCENARIO.replace("memory", "kafka").replace("short", "servers"))
    chosen = outside.prepare(str(tmp_path / "servers.yaml"), "standard", (), 1)

    with machine_lock.on_machine("the first"):
        with pytest.raises(
            SetupError, match=r"Another cluster is running on this machine \(process \d+ \(the first\)\)"
        ):
            outside.start(chosen, tmp_path / "second", web=False)
        assert outside.resume(begun, web=False) == 130

    assert not (tmp_path / "second").exists()
