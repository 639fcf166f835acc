"""What is refused before anything starts, since it could never come to pass or be decided."""

from pathlib import Path

import pytest

from bench.errors import ScenarioError
from bench.run.plan import Plan, plan
from bench.scenario import load

SCENARIO = """\
name: claims
title: Claims
question: Which can be decided?
expectations:
  - {{id: one, claim: It holds, system: kafka, {claim}}}
systems:
  kafka:
    producer: {{acks: [all, 1]}}
    faults: [{step}]
load: {{{load}}}
consumers: {consumers}
{end}
repeats: 1
"""


def made(folder: Path, **parts: str) -> Plan:
    whole = {
        "claim": "metric: lost, at_most: 0",
        "step": "",
        "load": "rate: 100",
        "consumers": "1",
        "end": "duration: 5s",
    }
    file = folder / "claims.yaml"
    file.write_text(SCENARIO.format(**whole | parts), encoding="utf-8")
    return plan(load(file), 1)


@pytest.mark.parametrize(
    "claim",
    [
        "metric: lost, at_most: 0, where: {acks: [all, 7]}",
        "metric: response_p99_ns, at_most: 1",
        "metric: e2e_p99_ns, increasing: {acks: [1, all, 7]}",
    ],
)
def test_what_some_case_can_decide_is_taken(tmp_path: Path, claim: str) -> None:
    assert len(made(tmp_path, claim=claim).trials) == 2


CLAIM = "metric: ack_gap_ns, fault: leader kiled, at_most: 1"
NAMED = (
    "{name: seen, when: {after: 1s}, mark: true}, "
    "{name: leader killed, when: {after: 1s}, kill: leader, times: 2, heal: {after: 1s}}"
)

DRAINED = "{name: seen, when: {after: 1s}, mark: true}, {name: drained, when: {after: 1s}, drain: broker-1}"


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        (
            {"claim": "metric: lost, at_most: 0, where: {nonsense: 1}"},
            "'nonsense', which kafka does not sweep",
        ),
        ({"claim": "metric: lost, at_most: 0, where: {acks: 7}"}, "speaks of acks=7, and kafka has 1, all"),
        ({"claim": "metric: lost, decreasing: {ackss: [all, 1]}"}, "goes along 'ackss'.* it sweeps acks"),
        (
            {"claim": "metric: lost, decreasing: {acks: [all, 7]}"},
            "goes along acks=all, 7, and kafka has 1, all",
        ),
        (
            {"claim": "metric: response_p99_ns, at_most: 1", "load": ""},
            "response_p99_ns, which a closed loop does not have",
        ),
        ({"claim": "metric: e2e_p99_ns, at_most: 1", "consumers": "0"}, "there are no consumers"),
        ({"claim": "metric: polls_skipped, at_most: 0", "consumers": "0"}, "there are no consumers"),
        ({"claim": "metric: moves, at_most: 1"}, "speaks of moves, and kafka has no faults"),
        (
            {"claim": CLAIM, "step": NAMED},
            "speaks of a step 'leader kiled', which kafka does not have; one of",
        ),
        (
            {"claim": CLAIM.replace("leader kiled", "seen"), "step": NAMED},
            "speaks of the fault 'seen', a step that strikes nothing; one of leader killed",
        ),
        (
            {"claim": "metric: done_ns, transfer: seen, at_most: 1", "step": DRAINED},
            "speaks of the transfer 'seen', a step that moves nothing; one of drained",
        ),
        (
            {"claim": "metric: step_ns, since: seen, until: leader killed, at_most: 1", "step": NAMED},
            "counts from or to the step 'leader killed', which comes several times",
        ),
        (
            {
                "claim": "metric: live_gap_ns, fault: leader killed, at_most: 1",
                "step": NAMED,
                "consumers": "0",
            },
            "speaks of live_gap_ns, and there are no consumers",
        ),
        (
            {"claim": "metric: reader_stall_ns, at_most: 1", "step": NAMED},
            "speaks of reader_stall_ns, and no step of kafka reads",
        ),
    ],
)
def test_what_no_case_can_ever_decide_is_refused(
    tmp_path: Path, parts: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"claims\.yaml:5: expectations\.0: 'one' .*{complaint}"):
        made(tmp_path, **parts)


def test_an_id_stands_for_one_expectation(tmp_path: Path) -> None:
    again = (
        "metric: lost, at_most: 0}\n  - {id: one, claim: It holds, system: kafka, metric: acked, at_least: 1"
    )

    with pytest.raises(
        ScenarioError, match=r"claims\.yaml:5: expectations\.0: 'one' is the id of two expectations"
    ):
        made(tmp_path, claim=again)


def test_a_system_that_is_not_there_is_named_with_its_claim(tmp_path: Path) -> None:
    claim = (
        "metric: lost, at_most: 0}\n  - {id: two, claim: Nothing, system: pulsar, metric: lost, at_most: 0"
    )

    complaint = r"claims\.yaml:6: expectations\.1: 'two' speaks of pulsar, which this scenario does not run"
    with pytest.raises(ScenarioError, match=complaint):
        made(tmp_path, claim=claim)


def test_a_setting_that_is_none_is_named_where_it_stands_also_in_a_variant(tmp_path: Path) -> None:
    file = tmp_path / "variants.yaml"
    file.write_text(
        "name: variants\ntitle: V\nquestion: Which?\nsystems:\n  kafka:\n    variants:\n      level:\n"
        "        one: {topic: {replicas: 1}}\n        two: {topic: {replica: 2}}\nduration: 5s\n",
        encoding="utf-8",
    )

    complaint = (
        r"variants\.yaml:9: systems\.kafka\.variants\.level\.two\.topic\.replica: "
        r"kafka .* has no topic setting 'replica'; nearest: replicas"
    )
    with pytest.raises(ScenarioError, match=complaint):
        plan(load(file), 1)


def step(when: str, action: str = "kill: leader") -> str:
    return f"{{when: {{{when}}}, {action}}}"


@pytest.mark.parametrize(
    "parts",
    [
        {"step": step("after: 5900ms")},
        {"step": step("acks: 600")},
        {"step": f"{step('load: over')}, {step('after: 60s')}"},
        {"step": step("acks: 100000"), "load": ""},
        {"step": step("acks: 700"), "end": "messages: 600"},
        {"step": step("after: 1h"), "end": "messages: 600"},
        {"step": step("after: 60s", "mark: true")},
    ],
)
def test_a_fault_that_can_meet_its_load_is_taken(tmp_path: Path, parts: dict[str, str]) -> None:
    assert made(tmp_path, **parts).trials


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"step": step("after: 6s")}, r"0\.when\.after: the load is over after 6 s; this comes after 6 s"),
        (
            {"step": f"{step('after: 4s')}, {step('after: 2s')}"},
            r"1\.when\.after: the load is over after 6 s",
        ),
        ({"step": step("acks: 601")}, r"0\.when\.acks: .* 601 acknowledged sends, and the load makes 600"),
        ({"step": step("acks: 701"), "end": "messages: 600"}, r"0\.when\.acks: .* and the load makes 700"),
    ],
)
def test_a_fault_that_cannot_meet_its_load_is_refused(
    tmp_path: Path, parts: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"claims\.yaml:9: systems\.kafka\.faults\.{complaint}"):
        made(tmp_path, **parts)
