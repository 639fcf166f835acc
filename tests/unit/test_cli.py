"""What the command answers, up to where something would start."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bench import cli
from bench.run import containers, outside
from bench.run import folder as run_folder
from bench.run.plan import Plan

SWEEP = """\
name: sweep
title: A sweep
question: What is asked?
systems: {memory: {producer: {loss: [0.0, 0.5], fails: [0.0, 0.6]}}}
duration: 1s
repeats: 2
profiles: {quick: {repeats: 1}}
"""


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    return file


def answer(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def test_every_scenario_is_listed_with_its_family_and_question() -> None:
    said = answer("list").output

    assert "acks-sweep" in said
    assert "durability" in said
    assert "What does each acknowledgement" in said


def test_a_sound_file_is_told_by_profile_and_what_was_left_out_with_its_reason(sweep: Path) -> None:
    told = answer("validate", sweep)

    assert told.exit_code == 0
    assert f"{sweep}: quick: 3 trials, 1 points left out" in told.output
    assert f"{sweep}: standard: 6 trials, 1 points left out" in told.output
    assert "1 of them: The memory producer's faults hit more than every message" in told.output


def test_a_wrong_file_ends_with_1_and_the_others_are_checked_all_the_same(sweep: Path) -> None:
    wrong = sweep.with_name("wrong.yaml")
    wrong.write_text(SWEEP.replace("loss", "los").replace("name: sweep", "name: wrong"), encoding="utf-8")

    told = answer("validate", wrong, sweep)

    assert told.exit_code == 1
    assert "wrong.yaml:4: systems.memory.producer.los: memory 1 has no producer setting 'los'" in told.output
    assert f"{sweep}: quick: 3 trials" in told.output


def test_a_dry_run_shows_what_would_be_run_and_starts_nothing(sweep: Path, tmp_path: Path) -> None:
    told = answer(
        "run", sweep, "--profile", "quick", "--producers", 7, "--dry-run", "--out", tmp_path / "out"
    )

    assert told.exit_code == 0, told.output
    assert "memory loss=0.5 fails=0.0" in told.output
    assert "sweep (quick): 3 trials" in told.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "producers", "rounds", "seed"),
    [
        ((), 1, 2, 1),
        (("--profile", "quick"), 1, 1, 1),
        (("--producers", "7", "--seed", "3"), 7, 2, 3),
        (("--set", "load.producers=5", "--set", "repeats=4"), 5, 4, 1),
    ],
)
def test_a_run_is_as_its_options_say(  # noqa: PLR0917 - a parameter of the test each
    sweep: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    producers: int,
    rounds: int,
    seed: int,
) -> None:
    started: list[Plan] = []

    def start(chosen: Plan, *_: object, **__: object) -> int:
        started.append(chosen)
        return 7

    monkeypatch.setattr(outside, "start", start)

    assert answer("run", sweep, *arguments).exit_code == 7

    (chosen,) = started
    assert {trial.case.load.producers for trial in chosen.trials} == {producers}
    assert (chosen.loaded.scenario.repeats, chosen.seed) == (rounds, seed)


@pytest.mark.parametrize(
    "option",
    [("--dry-run",), ("--profile", "quick"), ("--set", "a=1"), ("--producers", "2"), ("--seed", "2")],
)
def test_what_a_run_was_begun_with_cannot_be_changed_when_going_on(option: tuple[str, ...]) -> None:
    told = answer("run", "--resume", "some-run", *option)

    assert told.exit_code == 2
    assert "--resume continues a run with its original options" in told.output


def test_going_on_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_folder.create(tmp_path, "sweep", "quick")
    run.write("manifest.json", {"format": 1})
    asked: list[object] = []

    def resume(folder: run_folder.RunFolder, *, web: bool, budget_s: float | None, **others: object) -> int:
        assert others == {"agents": None, "store": None}
        asked.append((folder.path, web, budget_s))
        return 5

    monkeypatch.setattr(outside, "resume", resume)

    assert answer("run", "--resume", run.path, "--web").exit_code == 5
    assert answer("run", "--resume", run.path, "--budget", "20m").exit_code == 5
    assert asked == [(run.path, True, None), (run.path, False, 1200.0)]


def test_a_budget_is_a_time_or_unlimited(tmp_path: Path) -> None:
    run = run_folder.create(tmp_path, "sweep", "quick")
    run.write("manifest.json", {"format": 1})

    refused = answer("run", "--resume", run.path, "--budget", "20")

    assert refused.exit_code == 2
    assert "or unlimited" in refused.output


def test_trial_pages_are_written_only_where_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_folder.create(tmp_path, "sweep", "quick")
    run.write("manifest.json", {"format": 1})
    calls: list[bool] = []
    monkeypatch.setattr(outside, "report", lambda _folder, *, trial_pages: calls.append(trial_pages))

    assert answer("report", run.path).exit_code == 0
    assert answer("report", run.path, "--trials").exit_code == 0
    assert calls == [False, True]
    assert "--trials goes with a RUN" in answer("report", "--family", "faults", "--trials").output


def test_a_mistake_is_one_message_and_no_trace(tmp_path: Path) -> None:
    for arguments in (
        ("run", "nothing-like-it"),
        ("report", "no-run"),
        ("run", "acks-sweep", "--profile", "fast"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "bench", *arguments, "--out", str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done
        assert "error: " in done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_where_a_folder_is_wanted_is_one_message_too(sweep: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "run", str(sweep), "--out", str(sweep)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert str(sweep) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("imported", [False, True])
def test_a_run_without_its_event_log_cannot_be_computed_again_and_says_so(
    tmp_path: Path, imported: bool
) -> None:
    run = run_folder.create(tmp_path, "sweep", "quick")
    run.write("manifest.json", {"format": 1})
    (run.trials / "0000").mkdir()
    if not imported:
        shutil.rmtree(run.trials)

    told = answer("report", run.path)

    assert "its event log is not here" in str(told.exception)


def test_containers_are_only_listed_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def clean(*, dry_run: bool) -> list[str]:
        asked.append(dry_run)
        return ["bench-1-broker-1"]

    monkeypatch.setattr(containers, "clean", clean)

    listed, removed = answer("clean", "--docker", "--dry-run"), answer("clean", "--docker")

    assert asked == [True, False]
    assert listed.output == "bench-1-broker-1 would be removed\n"
    assert removed.output == "bench-1-broker-1 removed\n"
