"""What became of promises where something broke: which losses speak against them, and which do not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.guarantee import Guarantee
from bench.records.steps import StepRecord, StrikeRecord, UndoRecord
from bench.records.trial import TrialRecord
from bench.report import other_runs, results, sweep
from bench.report.sections import guarantees, promise_evidence
from bench.report.sections.delivery import account
from bench.report.sections.promise_coverage import Coverage, PromiseTrials, judge_coverage, of_case, unlike
from bench.report.sections.promise_evidence import elsewhere, tables
from bench.report.table import Table
from tests.records import trial_record
from tests.report_data import build
from tests.report_sketch import Sketch

Json = dict[str, Any]

MEMORY = Guarantee("bookie", nodes=1)
DISK = Guarantee("bookie", nodes=1, power=True)
ALONE = Guarantee("bookie", nodes=0)
LATER = Guarantee("broker", nodes=0, condition="once another copy is written")
NOTHING = Guarantee("broker")
BOOKIES = ("bookie-1", "bookie-2", "bookie-3")


def fault(
    kind: str, *nodes: str, asked: int = 10, healed: int | None = 20, name: str = "struck"
) -> StrikeRecord:
    return StrikeRecord(
        name=name,
        kind=kind,
        nodes=list(nodes),
        away=kind in {"kill", "stop", "pause", "power-loss"},
        asked_ns=asked,
        effect_ns=asked + 1,
        healed_ns=healed,
        proven=True,
    )


def trial(*steps: StepRecord, **configuration: Any) -> TrialRecord:
    case = {"system": "pulsar", "name": "pulsar", "settings": {}, "configuration": configuration}
    return trial_record(case=case, faults=list(steps))


def test_no_promise_speaks_of_what_is_deleted_where_steps_only_wait() -> None:
    waiting, killing = (
        {"name": "later", "when": {"load": "over"}, "mark": True},
        {"name": "killed", "kill": "leader"},
    )
    of_steps = [
        PromiseTrials(promise, those, those)
        for promise in (MEMORY, None)
        for steps in ([waiting], [waiting, killing], [])
        for those in [[trial(faults=steps)]]
    ]

    assert [one.coverage for one in of_steps] == 2 * [Coverage.OPEN, Coverage.WITHIN, Coverage.WITHIN]


@pytest.mark.parametrize(
    ("promise", "broke", "said"),
    [
        (MEMORY, fault("kill", "bookie-1", healed=None), Coverage.WITHIN),
        (MEMORY, fault("kill", "bookie-1", "bookie-2", healed=None), Coverage.BEYOND),
        (MEMORY, fault("kill", *BOOKIES), Coverage.WITHIN),  # all came back with what they had
        (MEMORY, fault("power-loss", "bookie-1"), Coverage.OPEN),  # it is back, and has forgotten
        (MEMORY, fault("power-loss", "bookie-1", healed=None), Coverage.WITHIN),
        (MEMORY, fault("power-loss", *BOOKIES, "broker-1"), Coverage.BEYOND),
        (DISK, fault("power-loss", *BOOKIES, "broker-1"), Coverage.WITHIN),
        (DISK, fault("power-loss", "bookie-1", "bookie-2", healed=None), Coverage.BEYOND),
        (MEMORY, fault("kill", "broker-1", "broker-2", healed=None), Coverage.WITHIN),  # these keep nothing
        (ALONE, fault("kill", "bookie-1"), Coverage.WITHIN),
        (ALONE, fault("kill", "bookie-1", healed=None), Coverage.BEYOND),
        (ALONE, fault("slow-disk", *BOOKIES, healed=None), Coverage.WITHIN),
        (LATER, fault("kill", "broker-1"), Coverage.BEYOND),
        (LATER, fault("isolate", "broker-1"), Coverage.BEYOND),
        (LATER, fault("slow-disk", "broker-1"), Coverage.OPEN),
        (replace(LATER, power=True), fault("power-loss", "broker-1"), Coverage.OPEN),
        (LATER, fault("kill", "controller-1"), Coverage.WITHIN),
        (NOTHING, fault("kill", "controller-1"), Coverage.BEYOND),
    ],
)
def test_what_broke_is_held_against_the_promise(
    promise: Guarantee, broke: StrikeRecord, said: Coverage
) -> None:
    assert judge_coverage(promise, [trial(broke)]) == said


def test_trials_are_told_apart_by_what_really_tried_a_promise() -> None:
    """Two bookies of three: one comes back, one never does, all lose their power, and one of them alone does."""
    steps = (
        fault("kill", "bookie-1"),
        fault("kill", "bookie-1", healed=None),
        fault("power-loss", *BOOKIES, "broker-1"),
        fault("power-loss", "bookie-1"),
    )
    trials = [trial(step, nodes={"bookie": 3}) for step in steps]

    on_disk, in_memory = (PromiseTrials(promise, trials, trials) for promise in (DISK, MEMORY))

    assert (on_disk.lost_nodes, on_disk.cut_power) == (1, 1)
    assert (in_memory.lost_nodes, in_memory.cut_power) == (3, 1)


def test_nodes_that_lost_their_memory_one_after_the_other_are_not_judged() -> None:
    """Whether their copies were made again in between nothing tells."""
    one, other = (fault("power-loss", f"bookie-{n}", asked=10 * n, healed=10 * n + 5) for n in (1, 2))

    assert judge_coverage(MEMORY, [trial(one, other)]) == Coverage.OPEN
    assert judge_coverage(MEMORY, [trial(one, other.model_copy(update={"asked_ns": 12}))]) == Coverage.BEYOND


def test_a_node_that_a_step_undid_was_not_lost() -> None:
    both = fault("kill", "bookie-1", "bookie-2", healed=None, name="both killed")

    for of, expected in (
        ("both killed", Coverage.WITHIN),
        ("another", Coverage.BEYOND),
        (None, Coverage.WITHIN),  # from before that was written down
    ):
        undone = UndoRecord(name="undo 3", of=of, nodes=["bookie-1"], asked_ns=15, effect_ns=16)
        assert judge_coverage(MEMORY, [trial(both, undone)]) == expected


def test_a_node_that_a_step_undid_was_back_then_also_where_the_others_were_healed_later() -> None:
    """One of two is back at 15, before the third goes at 20; the other is at 40: never more than two are away."""
    both = fault("kill", "bookie-1", "bookie-2", healed=40, name="both killed")
    undone = UndoRecord(name="undo 3", of="both killed", nodes=["bookie-1"], asked_ns=15, effect_ns=16)
    later = fault("kill", "bookie-3", asked=20, healed=30)
    run = trial(both, undone, later, topic={"quorums": "3-3-2"}, nodes={"bookie": 4})

    assert of_case([run], "pulsar").most_away == 2


@pytest.mark.parametrize(
    ("broke", "most"),
    [
        ([fault("kill", *BOOKIES)], 3),
        ([fault("kill", "bookie-1", asked=10), fault("isolate", "bookie-2", asked=30, healed=40)], 1),
        ([fault("kill", "bookie-1", asked=10), fault("isolate", "bookie-2", asked=15, healed=40)], 2),
        ([fault("power-loss", "bookie-1", "broker-1", "broker-2")], 1),
        ([fault("slow-disk", *BOOKIES)], 0),
    ],
)
def test_the_most_nodes_that_were_away_at_once_are_counted(broke: list[StrikeRecord], most: int) -> None:
    run = trial(*broke, topic={"quorums": "3-3-2"}, nodes={"bookie": 4})

    assert of_case([run], "pulsar").most_away == most


def test_trials_that_differ_are_not_judged() -> None:
    assert (
        judge_coverage(ALONE, [trial(fault("kill", "bookie-1", healed=heal)) for heal in (20, None)])
        == Coverage.OPEN
    )
    assert judge_coverage(ALONE, []) == Coverage.OPEN


def broken(
    folder: Path, broke: StrikeRecord | None = None, configuration: Json | None = None, **sketch: Any
) -> Path:
    """Make a run of Pulsar in which this broke in every trial."""
    run = build(folder, Sketch(systems=("pulsar",), rounds=1, messages=500, **sketch))
    summary, manifest = run / "results" / "summary.json", run / "manifest.json"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"figure": "timeline"}))
    titled = {"scenario": folder.name, "title": folder.name}
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | titled))
    for file in run.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["faults"] = [(broke or fault("kill", "bookie-1")).model_dump()]
        document["case"]["configuration"] |= configuration or {}
        file.write_text(json.dumps(document))
    return run


def told(tmp_path: Path) -> list[Table] | None:
    found = results.read(build(tmp_path / "20261121-1", Sketch(systems=("pulsar",), rounds=1, messages=500)))
    known = elsewhere(found, sweep.parts(found))
    return None if known is None else tables(known, sweep.parts(found))


def under(table: Table, promise: str) -> list[list[str]]:
    """Return the rows under a promise, without the scenario."""
    heads = [place for place, row in enumerate(table.rows) if row.heading]
    begin = next(place for place in heads if table.rows[place].cells[0].text == promise)
    end = min((place for place in heads if place > begin), default=len(table.rows))
    return [[cell.text for cell in row.cells] for row in table.rows[begin + 1 : end]]


def test_only_a_loss_within_the_promise_is_red(tmp_path: Path) -> None:
    every = dict.fromkeys(range(12), 61)
    broken(tmp_path / "20261122-1-power", fault("power-loss", *BOOKIES), lost=every)

    (table,) = told(tmp_path) or []

    disk, memory = (
        "Survives a power cut, not the loss of its bookie",
        "Survives neither the loss of its bookie nor a power cut",
    )
    assert [(row[1], row[4], row[-1]) for row in under(table, disk)] == [
        ("quorums=1-1-1 journalSyncData=true", "61", "within the promise")
    ]
    assert [row[-1] for row in under(table, memory)] == ["beyond it"]
    red = [row for row in table.rows if any(cell.tone == "bad" for cell in row.cells)]
    assert {row.cells[-1].text for row in red} == {"within the promise"}
    assert all("journalSyncData=true" in row.cells[1].text for row in red)


def test_in_a_runs_own_table_too_only_a_loss_within_the_promise_is_red(tmp_path: Path) -> None:
    run = broken(tmp_path / "run", fault("power-loss", *BOOKIES), lost=dict.fromkeys(range(12), 61))
    found = results.read(run)

    table = guarantees.table(found, *sweep.parts(found))

    lost = [column.head for column in table.columns].index("lost")
    tones = {
        (row.cells[0].text, row.cells[1].text): row.cells[lost].tone for row in table.rows if not row.heading
    }
    assert tones["1-1-1", "true"] == tones["3-3-3", "true"] == "bad"
    assert tones["2-2-1", "true"] == "plain"  # whether another copy was there nothing tells
    assert {tone for (_, synced), tone in tones.items() if synced == "false"} == {"plain"}
    assert "unread" not in [column.head for column in table.columns]


def test_the_first_page_says_whether_promises_were_kept_where_something_broke(tmp_path: Path) -> None:
    """A kill of all bookies, which come back, is within every promise but that of a copy that is written later."""
    found = results.read(build(tmp_path / "20261121-1", Sketch(systems=("pulsar",), rounds=1, messages=500)))

    def summary() -> str:
        known = elsewhere(found, sweep.parts(found))
        assert known is not None
        return known.summary()

    assert not summary()

    broken(tmp_path / "20261122-1-kill", fault("kill", *BOOKIES))
    assert summary() == (
        "In other runs nodes that store messages broke within what is promised here: "
        "Pulsar lost nothing in 10 trials of 1 scenario, in all of which nodes came back."
    )

    broken(tmp_path / "20261122-1b-slow", fault("slow-disk", *BOOKIES), lost=dict.fromkeys(range(12), 61))
    broken(tmp_path / "20261122-1c-broker", fault("kill", "broker-1"), lost=dict.fromkeys(range(12), 61))
    assert "Pulsar lost nothing in 10 trials of 1 scenario" in summary()  # no bookie was away

    broken(tmp_path / "20261122-2-power", fault("power-loss", *BOOKIES), lost=dict.fromkeys(range(12), 61))
    assert (
        "Pulsar lost messages in 5 of 15 configurations in 15 trials of 2 scenarios, of which " in summary()
    )


def test_where_nothing_that_both_promise_was_broken_the_first_page_warns(tmp_path: Path) -> None:
    run = build(tmp_path / "20261122-1-kill", Sketch(systems=("kafka", "pulsar"), rounds=1, messages=500))
    found = results.read(run)
    some = {number: trial for number, trial in found.trial_records.items() if _is_one_of(trial, "1-1-1", 4)}
    both = replace(found, trial_records=some)

    assert unlike(found) is None  # somewhere they promise the same
    several = unlike(both)
    assert several is not None
    assert several.startswith("No configuration of the one system promises ")
    one_each = {trial.case.system: trial for trial in some.values()}
    single = unlike(replace(found, trial_records=dict(enumerate(one_each.values()))))
    assert single is not None
    assert single.startswith(
        "The two do not promise the same of an acknowledged message. It survives, on Kafka: "
    )


def _is_one_of(trial: TrialRecord, quorums: str, replicas: int) -> bool:
    settings = trial.case.settings
    return settings.get("quorums") == quorums or str(settings.get("replicas")) == str(replicas)


@pytest.mark.parametrize(
    ("broke", "said"),
    [
        (fault("kill", "bookie-1"), {"1-1-1": "; is to go on", "3-3-3": "; is to go on"}),
        (fault("kill", "bookie-1", "bookie-2"), {"1-1-1": "; is to go on", "3-3-3": "; may stop"}),
        (fault("kill", "zookeeper-1"), {"1-1-1": "", "3-3-3": ""}),  # of these a promise does not speak
        (fault("full-disk", *BOOKIES), {"1-1-1": "", "3-3-3": ""}),
    ],
)
def test_writes_are_to_go_on_where_no_more_nodes_were_gone_than_they_go_on_without(
    tmp_path: Path, broke: StrikeRecord, said: dict[str, str]
) -> None:
    """Of four bookies three are over at E=1, one at 3."""
    import pandas as pd  # noqa: PLC0415

    run = broken(tmp_path / "20261122-1-kill", broke, {"nodes": {"bookie": 4}})
    file = run / "results" / "trials.parquet"
    pd.read_parquet(file).assign(unavailable_ns=2e9).to_parquet(file)
    (other,) = other_runs.fault_runs(tmp_path)

    found = {
        str(one.case["quorums"]): promise_evidence._ack_gap_cell(one).text
        for one in promise_evidence._tested_cases(other)
    }

    assert {quorums: found[quorums] for quorums in said} == {
        quorums: f"2.0{words}" for quorums, words in said.items()
    }


def test_a_promise_that_nothing_has_tried_is_named_so(tmp_path: Path) -> None:
    broken(tmp_path / "20261122-1-kill", configuration={"topic": {"quorums": "9-9-9"}})
    for file in (tmp_path / "20261122-1-kill").glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["case"]["settings"] = {"quorums": "1-1-1", "journalSyncData": "true"}
        file.write_text(json.dumps(document))

    (table,) = told(tmp_path) or []

    untried = under(table, "Survives the loss of any two bookies, and a power cut of all nodes")
    assert [row[0] for row in untried] == ["No scenario with a fault has tried this here."]


@pytest.mark.parametrize(("changed", "tried"), [("kafka", True), ("pulsar", False), (None, True)])
def test_evidence_is_of_the_same_version_of_the_system_that_gave_it(
    tmp_path: Path,
    changed: str | None,
    tried: bool,
) -> None:
    """What became of the other system's version is nothing to this one."""
    versions = {"kafka": "4.1", "pulsar": "4.0"}
    run = broken(tmp_path / "20261122-1-kill")
    manifest = json.loads((run / "manifest.json").read_text())
    other = versions | ({changed: "1.0"} if changed else {})
    (run / "manifest.json").write_text(json.dumps(manifest | {"versions": other}))
    ours = results.read(build(tmp_path / "20261121-1", Sketch(systems=("pulsar",), rounds=1, messages=500)))
    found = replace(ours, manifest={**ours.manifest, "versions": versions})

    known = elsewhere(found, sweep.parts(found))

    assert known is not None
    assert bool(known.tried) == tried


def test_what_an_application_in_between_loses_is_no_evidence(tmp_path: Path) -> None:
    broken(tmp_path / "20261122-1-settling", configuration={"processor": {"acknowledge": "before"}})

    (table,) = told(tmp_path) or []

    assert all(row.heading or row.cells[0].text.startswith("No scenario") for row in table.rows)


def test_what_could_not_be_read_is_not_passed_over(tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    run = broken(tmp_path / "20261122-1-kill")
    file = run / "results" / "cases.parquet"
    pd.read_parquet(file).assign(lost=None, unread=400).to_parquet(file)

    (table,) = told(tmp_path) or []

    told_of = {
        (row.cells[-1].text, row.cells[4].text, row.cells[4].tone) for row in table.rows if not row.heading
    }
    assert told_of == {("within the promise", "400 unread", "warn"), ("beyond it", "400 unread", "plain")}
    found = results.read(tmp_path / "20261121-1")
    known = elsewhere(found, sweep.parts(found))
    assert known is not None
    said = known.summary()
    assert ": Pulsar lost at most 4,000 of " in said
    assert said.endswith(" messages in 10 trials of `20261122-1-kill`, where reading stopped early.")

    broken(tmp_path / "20261122-2-kill", fault("kill", *BOOKIES))
    known = elsewhere(found, sweep.parts(found))
    assert known is not None
    said = known.summary()
    assert (
        ": Pulsar lost nothing in 10 trials of 1 scenario, in all of which nodes came back, and at most 4,000 of "
        in said
    )


@pytest.mark.parametrize(
    ("healed", "words"),
    [
        (None, "Kafka has 35 of 900 messages in 5 trials of `gone`, unread until another replica is in sync"),
        (20, "Kafka lost at most 35 of 900 messages in 5 trials of `gone`, where reading stopped early"),
    ],
)
def test_what_waits_for_a_replica_is_not_counted_as_a_loss(healed: int | None, words: str) -> None:
    import pandas as pd  # noqa: PLC0415

    promise = Guarantee("broker", nodes=1, spare=0, reads_wait=True)
    killed = trial(fault("kill", "broker-1", healed=healed))
    case = pd.Series({"system": "kafka", "lost": None, "unread": 35, "acked": 900, "rounds": 5})
    other = other_runs.OtherRun(Path("gone"), {"scenario": "gone"}, pd.DataFrame(), None, {})
    one = promise_evidence._TestedCase(other, case, promise, PromiseTrials(promise, [killed], [killed]))

    known = promise_evidence.PromiseEvidence({"kafka": [promise]}, [one], broke=True)

    assert known.evidence("kafka", {promise.survives}) == words


def test_what_is_known_of_a_sum_of_losses_is_not_passed_over(tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    run = broken(tmp_path / "20261122-1-kill")
    file = run / "results" / "cases.parquet"
    pd.read_parquet(file).assign(lost=None, lost_at_least=7).to_parquet(file)

    found = results.read(run)
    part = sweep.parts(found)[0]
    (evidence,) = told(tmp_path) or []

    for table in (guarantees.table(found, part), account(found, part), evidence):
        place = [column.head for column in table.columns].index("lost")
        assert {row.cells[place].text for row in table.rows if not row.heading} == {"at least 7"}


def test_where_no_run_broke_anything_there_are_no_tables(tmp_path: Path) -> None:
    assert told(tmp_path) == []


def test_a_run_in_which_something_broke_is_its_own_evidence(tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    run = broken(tmp_path / "20261122-1-kill")
    file = run / "results" / "faults.parquet"
    pd.concat([pd.read_parquet(file), pd.DataFrame([{"trial": 0, "fault": "struck"}])]).to_parquet(file)
    found = results.read(run)

    assert elsewhere(found, sweep.parts(found)) is None
