"""The table of what faults did to each configuration: rates before and after, losses, outages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from bench.report import results, sweep
from bench.report.sections import fault_summary
from tests.fault_sketch import Case, Trial
from tests.fault_sketch import results as struck
from tests.records import altered
from tests.report_data import build
from tests.report_sketch import Sketch


def gaps(*after_s: tuple[float, str | None]) -> pd.DataFrame:
    """A fault a trial, after 2,000/s and more: for so long no acknowledgement, and twice as long nothing received."""
    rows = [
        {
            "trial": trial,
            "asked_ns": 5,
            "rate_before": 2000.0 + 100 * trial,
            "back_ns": None if ended == "no end" else gap_s * 3e9,
            "ack_gap_ns": gap_s * 1e9,
            "ack_gap_ended": ended,
            "live_gap_ns": 2 * gap_s * 1e9,
            "live_gap_ended": None,
        }
        for trial, (gap_s, ended) in enumerate(after_s)
    ]
    return pd.DataFrame(rows)


def cells(found: results.Results) -> dict[str, str]:
    (part,) = sweep.parts(found)
    line, *_ = fault_summary.lines(found, part)
    return dict(
        zip(fault_summary.HEADS, (cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in line), strict=True)
    )


def test_rates_and_gaps_are_of_trials_that_other_work_did_not_crowd(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=3, messages=500)))
    first = found.cases["case"].iloc[0]
    of_case = found.trials[found.trials["case"] == first].assign(trial=[0, 1, 2], reader_stall_ns=None)
    faults = gaps((3.0, "healing"), (9.0, None), (4.0, "healing"))
    found = replace(found, faults=faults, cases=found.cases[found.cases["case"] == first])

    quiet = cells(replace(found, trials=of_case.assign(other_cpu=0.0)))
    assert (quiet["trials"], quiet["acks/s before"]) == ("3/3", "2,100 (2,000 to 2,200)")
    assert (quiet["no ack, s"], quiet["none read, s"]) == ("3.0 to 9.0, 2 till healed", "6.0 to 18.0")

    one = cells(replace(found, trials=of_case.assign(other_cpu=[0.0, 0.7, 0.2])))
    assert (one["trials"], one["acks/s before"]) == ("3/3", "2,100 (2,000 to 2,200)")
    assert (one["no ack, s"], one["none read, s"]) == (
        "3.0 to 4.0 (2 trials), till healed",
        "6.0 to 8.0 (2 trials)",
    )

    every = cells(replace(found, trials=of_case.assign(other_cpu=0.7)))
    assert every["acks/s before"] == quiet["acks/s before"]
    assert every["no ack, s"] == "3.0 to 9.0 (beside other work), 2 till healed"
    assert every["rate back, s"] == "9.0 to 27.0 (beside other work)"


def test_a_rate_that_was_never_back_and_one_below_what_was_asked_for_are_told(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=3, messages=500)))
    first = found.cases["case"].iloc[0]
    of_case = found.trials[found.trials["case"] == first].assign(
        trial=[0, 1, 2], reader_stall_ns=None, other_cpu=0.0
    )
    records = {
        trial: altered(found.trial_records[trial], load={"pacing": [[1.0, 2_500.0]]}) for trial in range(3)
    }
    faults = gaps((3.0, None), (9.0, "no end"), (4.0, None))
    found = replace(
        found,
        faults=faults,
        trials=of_case,
        trial_records=records,
        cases=found.cases[found.cases["case"] == first],
    )

    said = cells(found)

    assert said["acks/s before"] == "2,100 (2,000 to 2,200), of 2,500 asked for"
    assert said["rate back, s"] == "9.0 to 12.0, 1 not"
    faults["back_ns"] = None
    assert cells(found)["rate back, s"] == "not"


def test_only_a_loss_that_a_promise_covers_is_red() -> None:
    lost, asked = (
        Trial(lost=7, sent=(0.0, 9.0), duplicates=5),
        {"topic": {"replicas": 3, "min.insync.replicas": 2}},
    )
    found = struck(*(Case("kafka", {"acks": acks}, [lost], asked=asked) for acks in ("all", "1")))
    (part,) = sweep.parts(found)

    tones = [[cell.tone for cell in line[3:6]] for line in fault_summary.lines(found, part)]

    assert tones == [["bad", "plain", "quiet"], ["strong", "plain", "quiet"]]
