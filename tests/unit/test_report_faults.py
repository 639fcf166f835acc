"""What a trial's page says of what broke."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd

from bench.analysis.tables import fields
from bench.report import results, sweep
from bench.report.pages import html, trials
from bench.report.sections import faults
from tests.records import trial_record
from tests.report_data import build
from tests.report_sketch import Sketch
from tests.spaces import with_plain_spaces

SECOND = 1_000_000_000
STEPS = [
    {
        "name": "both killed",
        "kind": "kill",
        "when": "after 80,000 acknowledged sends",
        "asked_ns": 10 * SECOND,
        "effect_ns": 11 * SECOND,
        "seen": "bookie-1 ended with status -9.",
        "heal_seen": "bookie-1 started again.",
        "proven": True,
    },
    {
        "name": "the reader begins",
        "kind": "read",
        "when": "after the load",
        "asked_ns": 12 * SECOND,
        "received": 308_790,
        "stalls": [
            {"from_ns": 13 * SECOND, "to_ns": 23 * SECOND, "received": 80_000, "at": [[0, 3, 79_999]]}
        ],
        "complete": True,
        "reason": None,
    },
    {"name": "one back", "kind": "undo", "asked_ns": 23 * SECOND, "seen": "bookie-1 started again."},
    {"name": "copied again", "kind": "mark", "when": "when copies are complete", "asked_ns": 31 * SECOND},
    {
        "name": "never met",
        "asked_ns": 0,
        "kind": "isolate",
        "when": "after 9,000,000 acknowledged sends",
        "seen": "Rules are in force.",
        "proven": False,
        "unproven": "No packet was dropped.",
    },
    {
        "name": "never due",
        "asked_ns": 0,
        "kind": "kill",
        "when": "after 9,000,000 acknowledged sends",
        "proven": False,
    },
]


PULSAR = {"system": "pulsar", "name": "pulsar", "settings": {}}


def test_every_kind_of_step_is_told_in_words() -> None:
    told = {step.term: step.text for step in faults.steps(trial_record(case=PULSAR, faults=STEPS))}

    assert told == {
        "both killed (after 80,000 acknowledged sends)": "bookie-1 ended with status -9. bookie-1 started again.",
        "the reader begins (after the load)": (
            "1.0 s after both killed was in force. 80,000 messages had come, the last at partition 0, ledger 3, "
            "entry 79999, then nothing for 10.0 s; 308,790 came in all, and the end was reached."
        ),
        "one back (undo)": "12.0 s after both killed was in force. bookie-1 started again.",
        "copied again (when copies are complete)": "20.0 s after both killed was in force.",
        "never met (after 9,000,000 acknowledged sends)": (
            "Rules are in force. No packet was dropped. It was not healed."
        ),
        "never due (after 9,000,000 acknowledged sends)": "Nothing was seen. It was not healed.",
    }


def test_steps_are_told_round_by_round(tmp_path: Path) -> None:
    """A step that did not come in its time is as much a finding as when the others came."""
    run = build(tmp_path / "run", Sketch(systems=("memory",), rounds=2))
    left_out = {
        "name": "copied again",
        "kind": "left out",
        "seen": "It did not come.",
        "asked_ns": 99 * SECOND,
    }
    for file in (run / "trials").glob("*/trial.json"):
        document = json.loads(file.read_text())
        steps = STEPS[:3] + ([STEPS[3]] if document["round"] == 0 else [left_out])
        file.write_text(json.dumps(document | {"faults": steps}))
    found = results.read(run)
    struck = pd.DataFrame(
        {"trial": list(found.trial_records), "asked_ns": 6 * SECOND}
    )  # 4 s before is the first send

    first, _ = faults.by_round(replace(found, faults=struck), sweep.parts(found))

    assert [column.head for column in first.columns] == ["step", "1", "2"]
    rows = {row.cells[0].text: [cell.text for cell in row.cells[1:]] for row in first.rows}
    assert rows["both killed"] == ["6.0", "6.0"]
    assert rows["the reader begins"] == ["8.0 (still 10.0)", "8.0 (still 10.0)"]
    assert rows["copied again"] == ["27.0", "did not come"]


def test_where_steps_only_strike_there_is_no_table_of_them(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Sketch(systems=("memory",), rounds=1))
    file = run / "trials" / "0000" / "trial.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"faults": STEPS[:1]}))
    found = results.read(run)

    assert faults.by_round(found, sweep.parts(found)) == []


def test_a_trials_page_shows_its_steps(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Sketch(systems=("memory",), rounds=1))
    file = run / "trials" / "0000" / "trial.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"faults": STEPS}))

    trials.write(run)

    page = with_plain_spaces((run / "pages" / "0000.html").read_text())
    assert all(str(step["name"]) in page for step in STEPS)
    assert "then nothing for 10.0 s" in page


def slowed(folder: Path, figure: str) -> str:
    """The page of a run with a slow network in every trial."""
    run = build(folder, Sketch(systems=("kafka",), rounds=5))
    rows = pd.DataFrame({"trial": results.table(run, "trials")["trial"]}).reindex(
        columns=list(fields("faults"))
    )
    rows = rows.assign(fault="slow follower", kind="slow-network", nodes="broker-2", proven=True)
    times = {"asked_ns": SECOND // 50, "effect_ns": SECOND, "healed_ns": 9 * SECOND, "ack_gap_ns": SECOND}
    rows.assign(**times).to_parquet(run / "results" / "faults.parquet")
    summary = run / "results" / "summary.json"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"figure": figure}))
    return html.render(run)


def test_a_standing_condition_is_told_and_the_run_measured_as_any_other(tmp_path: Path) -> None:
    page = slowed(tmp_path / "standing", "throughput")

    assert "bootstrap intervals" in page
    assert 'id="configurations"' not in page
    assert "Standing conditions" in page
    assert "slow follower" in page
    assert "Guarantees and their price" in page


def test_under_a_fault_a_section_has_what_it_cost_each_configuration(tmp_path: Path) -> None:
    page = slowed(tmp_path / "broken", "timeline")

    section = page[page.index('<section id="configurations">') : page.index('<section id="expectations">')]
    assert "no ack, s" in re.sub(r"<wbr>", "", section)
    assert "spans are the least and the most" in page
    assert "What broke" in page
    assert "Guarantees and their price" not in page
