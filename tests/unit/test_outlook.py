"""What a run has decided, and how many more rounds the rest would take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.analysis.folder import ManifestRecord, PlanRecord, RunRecords
from bench.analysis.verdicts.deciding_rows import MeasuredRows
from bench.analysis.verdicts.outlook import outlook, seconds_per_round
from bench.analysis.verdicts.run_verdicts import judgements, write
from bench.model import NANOS
from bench.records.steps import StrikeRecord
from bench.records.trial import TrialRecord

Row = dict[str, Any]


def expectation(verdict: str, *needed: int | None, rounds: int = 3) -> Row:
    comparisons = [{"verdict": verdict, "rounds": rounds, "rounds_needed": count} for count in needed]
    return {"id": verdict, "verdict": verdict, "summary": f"{verdict}: …", "comparisons": comparisons}


def ratios(*half_widths: float) -> list[Row]:
    head = {"metric": "throughput_msgs_per_s"}
    return [head | {"low": 1 / (1 + width), "high": 1 + width} for width in half_widths]


def test_when_all_is_decided_and_precise_enough_nothing_is_missing() -> None:
    found = outlook(
        [expectation("held", 2), expectation("no difference", 3)], ratios(0.03, 0.05), 0.05, 3, 60
    )

    assert (found.decided, found.undecided, found.more_rounds, found.minutes_left) == (2, (), 0, 0)
    assert found.half_width == pytest.approx(0.04)


def test_the_comparison_that_needs_most_rounds_counts() -> None:
    found = outlook([expectation("held", 2), expectation("undecided", 5, 9)], ratios(0.01), 0.05, 3, 90)

    assert found.undecided == (("undecided", "undecided: …"),)
    assert (found.more_rounds, found.minutes_left) == (6, 9)


def test_half_widths_shrink_with_the_root_of_the_rounds() -> None:
    """Twice as wide as asked for, as logarithms, takes four times the rounds."""
    assert outlook([], ratios(1.05**2 - 1), 0.05, 3, None).more_rounds == 9
    assert outlook([], ratios(1.05**2 - 1), None, 3, None).more_rounds == 0


@pytest.mark.parametrize("judged", [[expectation("undecided", None)], [expectation("undecided")]])
def test_where_nothing_is_known_of_the_variance_there_is_no_estimate(judged: list[Row]) -> None:
    found = outlook(judged, [], 0.05, 1, 60)

    assert (found.more_rounds, found.minutes_left) == (None, None)


def test_one_round_gives_no_estimate_of_ratios() -> None:
    none = [{"metric": "throughput_msgs_per_s", "low": None, "high": None}]

    assert outlook([], none, 0.05, 1, 60).more_rounds is None


def record(number: int, round_number: int, start_s: float, replicas: int = 1) -> TrialRecord:
    return TrialRecord.model_validate(
        {
            "format": 1,
            "trial": number,
            "round": round_number,
            "case": {
                "system": "kafka",
                "name": f"kafka replicas={replicas}",
                "settings": {"replicas": replicas},
            },
            "load": {"pacing": "closed"},
            "state": "finished",
            "verdict": "valid",
            "window": {"start_ns": int(start_s * NANOS), "end_ns": int((start_s + 10) * NANOS)},
        }
    )


def test_a_round_takes_from_its_first_window_to_that_of_the_next() -> None:
    assert seconds_per_round([record(0, 0, 100), record(1, 0, 120), record(2, 1, 150)]) == 50
    assert seconds_per_round([record(0, 0, 100), record(1, 0, 120)]) == 30
    assert seconds_per_round([]) is None


CLAIM = {
    "id": "order",
    "claim": "Replicas cost throughput",
    "system": "kafka",
    "metric": "throughput_msgs_per_s",
    "decreasing": {"replicas": [1, 2]},
}


def run(rates: dict[int, list[float]], **manifest: Any) -> tuple[RunRecords, MeasuredRows]:
    """Give a run of two cases, a value a round, and its rows of `trials`."""
    trials: list[TrialRecord] = []
    rows: list[Row] = []
    for replicas, values in rates.items():
        for number, rate in enumerate(values):
            made = record(len(trials), number, 100 * number, replicas)
            trials.append(made)
            rows.append(
                {
                    "trial": made.trial,
                    "round": number,
                    "system": "kafka",
                    "case": made.case.name,
                    "replicas": str(replicas),
                    "verdict": "valid",
                    "throughput_msgs_per_s": rate,
                }
            )
    plan = PlanRecord(format=1, swept={"kafka": ["replicas"]})
    known = ManifestRecord(format=1, expectations=[CLAIM], **manifest)
    return RunRecords(Path(), known, plan, tuple(trials)), MeasuredRows(rows, [], [])


DECIDED_BY_THREE = {1: [1050.0, 1100.0, 1160.0, 1120.0], 2: [1000.0] * 4}


def test_a_run_that_was_looked_at_is_judged_by_the_level_of_that_look() -> None:
    assert judgements(*run(DECIDED_BY_THREE))[0]["verdict"] == "held"
    assert judgements(*run(DECIDED_BY_THREE), looks=3)[0]["verdict"] == "undecided"
    assert judgements(*run(DECIDED_BY_THREE, looks=3))[0]["verdict"] == "undecided"


def test_results_tell_ratios_and_what_is_undecided(tmp_path: Path) -> None:
    rates = {1: [1100.0, 1000.0, 1200.0], 2: [1000.0] * 3}
    folder, found = run(rates, baseline={"kafka": "kafka replicas=1"}, precision=0.05)

    undecided = write(tmp_path, folder, found)

    assert undecided is not None
    assert undecided["expectations"] == ["order"]
    assert undecided["minutes_left"] > 0
    (row,) = pq.read_table(tmp_path / "ratios.parquet").to_pylist()
    assert (row["case"], row["baseline"], row["rounds"]) == ("kafka replicas=2", "kafka replicas=1", 3)
    assert undecided["half_widths"] == {row["metric"]: pytest.approx((row["high"] / row["low"]) ** 0.5 - 1)}
    (verdict,) = json.loads((tmp_path / "expectations.json").read_text())
    assert verdict["verdict"] == "undecided"
    assert verdict["effect"] == pytest.approx((1100 * 1000 * 1200) ** (1 / 3) / 1000)


def test_where_something_was_broken_rounds_are_counted_and_there_are_no_ratios(tmp_path: Path) -> None:
    folder, found = run({1: [2000.0] * 3, 2: [1000.0] * 3}, baseline={"kafka": "kafka replicas=1"})
    killed = [StrikeRecord(name="killed", kind="kill", asked_ns=1, effect_ns=1, proven=True)]
    broken = tuple(trial.model_copy(update={"faults": killed}) for trial in folder.trials)
    folder = RunRecords(folder.path, folder.manifest, folder.plan, broken)

    assert write(tmp_path, folder, found) is None
    assert pq.read_table(tmp_path / "ratios.parquet").num_rows == 0
    (verdict,) = json.loads((tmp_path / "expectations.json").read_text())
    assert verdict["verdict"] == "undecided"
    assert "a verdict takes 5 rounds that agree" in verdict["summary"]
