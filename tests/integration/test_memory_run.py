"""Runs of the in-memory system, which starts no node: searched for a capacity, killed, and stopped."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.run import outside
from bench.run.folder import RunFolder
from tests.whole_runs import analysed, bench, mentioning, only, rows, scenario, until

pytestmark = pytest.mark.integration

MANY = "systems: {memory: {producer: {delay_ms: [0.1, 0.2]}}}\nduration: 500ms\nrepeats: 2\n"


def test_a_search_finds_the_capacity_that_theory_gives(measured: Callable[..., Path]) -> None:
    """Sends of a producer follow one another, each for 20 ms on average, by an exponential distribution: D/M/1.

    With m = 50/s the share that takes longer than t is exp(-m (1 - s) t), where s = exp(-m (1 - s) / rate). It is 1 %
    at 200 ms where s = 0.5395, so at 37.3 messages/s of each producer. None can send more than m.
    """
    text = (
        "systems: {memory: {producer: {delay_ms: 20.0, seed: 3}}}\nload: {producers: 16}\nduration: 1s\nrepeats: 1\n"
        "capacity: {response_p99: 200ms, end_to_end_p99: 2s, search: 1s, confirm: 2s, settle: 1s}\n"
    )

    run = measured("capacity", text)

    (row,) = rows(run, "capacities")
    passed, failed = float(row["passed_rate"]), float(row["failed_rate"])
    assert 0.4 * 16 * 37.3 < passed < 1.1 * 16 * 37.3  # less where others have the cores
    assert passed < failed < 2 * 16 * 50
    holds = rows(run, "holds")
    trial = json.loads((run / "trials" / "0000" / "trial.json").read_text(encoding="utf-8"))
    assert [one["verdict"] for one in holds] == [one["verdict"] for one in trial["holds"]]
    looks = pq.read_table(run / "trials" / "0000" / "telemetry").to_pylist()
    assert {look["slice"] for look in looks if look["metric"] == "cpu_s"} >= {
        one["slice"] for one in trial["holds"]
    }
    (counted,) = rows(run, "trials")
    assert (counted["verdict"], counted["lost"]) == ("valid", "0")


def test_a_killed_run_leaves_nothing_keeps_its_trials_and_goes_on(
    tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = bench("run", scenario(tmp_path, "killed", MANY), "--out", tmp_path / "out")
    until(lambda: len(list((tmp_path / "out").glob("*/trials/[0-9]*/trial.json"))) >= 1)

    process.kill()
    process.wait()

    run = only(tmp_path / "out")
    until(lambda: not mentioning(run))
    first = (run / "trials" / "0000" / "trial.json").read_text(encoding="utf-8")
    monkeypatch.setattr(outside, "report", analysed)
    assert outside.resume(RunFolder(run), web=False) == 0
    assert sorted(entry.name for entry in (run / "trials").iterdir()) == [
        f"{number:04d}" for number in range(4)
    ]
    assert (run / "trials" / "0000" / "trial.json").read_text(encoding="utf-8") == first
    assert {"line_ns", "line_after_ns"} < json.loads(first)["machine"].keys()
    assert not (run / "nodes").exists()
    assert len(rows(run, "trials")) == 4


def test_ctrl_c_keeps_the_finished_trials_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = bench("run", scenario(tmp_path, "stopped", MANY), "--out", tmp_path / "out")
    until(lambda: len(list((tmp_path / "out").glob("*/trials/[0-9]*/trial.json"))) >= 1)

    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()

    run = only(tmp_path / "out")
    assert process.returncode == 130, said
    assert "bench run --resume" in said
    assert not (run / "nodes").exists()
    assert not list((run / "trials").glob(".*"))
    until(lambda: not mentioning(run))
