"""What scenarios say of how their results are presented."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from bench.errors import ReportError, ScenarioError
from bench.report.presentation import DeclaredCause, Labels, of_scenario, presentation
from bench.run.plan import plan
from bench.scenario import Scenario, catalogue, find, load, names
from bench.scenario.load import resolve_document
from bench.scenario.presentation import KEYS
from tests.catalogue import of_the_usual_versions

PUBLISHED = Path(__file__).parents[2] / "reports" / "published"
MOST_WORDS = 25
NOT_PLAIN = re.compile(
    r"\b(told|said|meant|kept|worth|unheard|crowded|alike|dearest|cheapest|dear|twice|doubled|disordered|mended)\b"
    r"|by itself|what became of|it came",
    re.IGNORECASE,
)

FILE = """\
name: small
title: A small one
question: Does it read?
systems:
  kafka:
    topic: {replicas: [1, 4], min.insync.replicas: 1}
    producer: {acks: [all, 1]}
    faults: [{name: slow, when: {acks: 1}, slow-disk: {target: leader, fsync: 5ms}}]
  pulsar:
    topic: {quorums: [1-1-1, 2-2-2]}
    bookie: {journalSyncData: false}
duration: 2s
"""
CHANGE = "{change: waiting, system: kafka, of: {replicas: 4, acks: all}, to: {replicas: 4, acks: 1}}"
CAUSE = "{system: kafka, when: {metric: lost, at_least: 1}, cause: Why., source: Docs}"


def write(folder: Path, text: str, name: str = "small") -> Path:
    file = folder / f"{name}.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(write(folder, text))
    return str(caught.value)


def test_a_scenario_says_how_its_results_are_presented(tmp_path: Path) -> None:
    text = f"{FILE}note: An experiment.\nlabels: {{acks: {{1: leader only}}}}\nanswer: [{CHANGE}]\ncauses: [{CAUSE}]\n"

    found = of_scenario(load(write(tmp_path, text)).scenario)

    (comparison,) = found.comparisons
    (cause,) = found.causes
    assert found.note == "An experiment."
    assert found.labels.label("kafka", {"replicas": "4", "acks": "1"}) == "4 replicas, leader only"
    assert comparison.of == {"replicas": "4", "acks": "all"}
    assert comparison.metric == "throughput_msgs_per_s"
    assert (cause.cause, cause.prevention, cause.at_least) == ("Why.", "", 1)


@pytest.mark.parametrize(
    ("keys", "place", "said"),
    [
        (
            "labels: {retries: {1: once}}",
            "labels.retries",
            "no system sweeps 'retries'; swept: replicas, acks",
        ),
        ("labels: {acks: {2: two}}", "labels.acks.2", "no case has acks=2; the values are all, 1"),
        ("labels: {acks: {1: ''}}", "labels.acks.1", "String should have at least 1 character"),
        (f"answer: [{CHANGE}, {CHANGE}, {CHANGE}, {CHANGE}]", "answer", "at most 3 items"),
        (f"causes: [{CAUSE}, {CAUSE}, {CAUSE}, {CAUSE}]", "causes", "at most 3 items"),
        (
            f"answer: [{CHANGE.replace('acks: all', 'acks: 0')}]",
            "answer.0.of.acks",
            "kafka has no case with acks=0; the values are all, 1",
        ),
        (
            f"answer: [{CHANGE.replace('of: {', 'of: {retries: 1, ')}]",
            "answer.0.of.retries",
            "kafka does not sweep 'retries'; swept: replicas, acks",
        ),
        (
            f"answer: [{CHANGE.replace('to: {replicas: 4, ', 'to: {')}]",
            "answer.0.to",
            "2 cases have these settings: name replicas too",
        ),
        (
            f"answer: [{CHANGE.replace('to: {replicas: 4, ', 'to: {')[:-1]}, metric: unavailable_ns}}]",
            "answer.0.to",
            "`of` and `to` that pick several cases name the same settings",
        ),
        (
            f"answer: [{CHANGE[:-1]}, metric: unavailable_ns}}]",
            "answer.0.metric",
            "only faults set unavailable_ns, and this scenario has none",
        ),
        (
            f"answer: [{CHANGE[:-1]}, metric: unavailable_ns, advice: {{less: Take it.}}}}]",
            "answer.0",
            "unavailable_ns is compared in a `change`, without advice",
        ),
        (
            f"answer: [{CHANGE.replace('acks: 1', 'acks: all')}]",
            "answer.0.to",
            "`of` and `to` are the same case",
        ),
        (
            f"answer: [{CHANGE.replace('kafka', 'memory')}]",
            "answer.0.system",
            "this scenario does not run memory; it runs kafka, pulsar",
        ),
        ("answer: [{change: waiting}]", "answer.0", "a `change` needs `system`, `of` and `to`"),
        ("answer: [{system: kafka}]", "answer.0", "give `change` with system, of and to; or `guarantee`"),
        (
            "answer: [{guarantee: everything}]",
            "answer.0.guarantee",
            "the systems do not share the guarantee 'everything'; shared: neither the loss of its node nor",
        ),
        (
            "answer: [{guarantee: neither the loss of its node nor a power cut, at: {acks: 1}}]",
            "answer.0.at.acks",
            "pulsar does not sweep 'acks'; swept: quorums",
        ),
        (
            f"answer: [{CHANGE[:-1]}, advice: {{kafka: Take it.}}}}]",
            "answer.0",
            "advice 'kafka' fits no outcome here; allowed: more, less, same",
        ),
        (
            f"answer: [{CHANGE[:-1]}, metric: tps}}]",
            "answer.0",
            "metric 'tps' is no column of results/trials",
        ),
        (
            f"causes: [{CAUSE.replace(', at_least: 1', '')}]",
            "causes.0.when",
            "give at_least, at_most or both",
        ),
        (
            f"causes: [{CAUSE.replace('when', 'where: {acks: [1, 0]}, when')}]",
            "causes.0.where.acks",
            "kafka has no case with acks=0",
        ),
        (
            f"causes: [{CAUSE.replace('kafka', 'pulsar').replace('lost', 'unavailable_ns')}]",
            "causes.0.when.metric",
            "only faults set unavailable_ns, and pulsar has no faults",
        ),
        (f"causes: [{CAUSE.replace('source', 'sauce')}]", "causes.0.sauce", "did you mean 'source'?"),
        (
            "profiles: {quick: {note: Short.}}",
            "profiles.quick.note",
            "how results are presented is the same in all profiles",
        ),
    ],
)
def test_what_the_sweep_does_not_have_is_refused_with_its_line(
    tmp_path: Path, keys: str, place: str, said: str
) -> None:
    complained = complaint(tmp_path, f"{FILE}{keys}\n")

    assert f"small.yaml:13: {place}: " in complained
    assert said in complained


def test_where_something_breaks_an_answer_compares_the_time_without_writes(tmp_path: Path) -> None:
    text = FILE.replace("slow-disk: {target: leader, fsync: 5ms}", "kill: leader")
    outage = CHANGE[:-1] + ", metric: unavailable_ns}"

    complained = complaint(tmp_path, f"{text}answer: [{CHANGE}]\n")

    assert (
        "small.yaml:13: answer.0.metric: where something breaks, an answer compares unavailable_ns"
        in complained
    )
    assert of_scenario(load(write(tmp_path, f"{text}answer: [{outage}]\n")).scenario).comparisons


def test_presentation_is_no_override(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="--set note=x: it says how results are presented"):
        load(write(tmp_path, FILE), overrides=["note=x"])


def test_a_comparison_of_a_case_that_cannot_exist_is_refused(tmp_path: Path) -> None:
    text = FILE.replace("min.insync.replicas: 1", "min.insync.replicas: [1, 2]").replace(
        "    faults: [{name: slow, when: {acks: 1}, slow-disk: {target: leader, fsync: 5ms}}]\n", ""
    )
    sides = "of: {replicas: 1, min.insync.replicas: 2, acks: all}, to: {replicas: 4, min.insync.replicas: 2, acks: all}"

    with pytest.raises(ScenarioError, match=r":12: answer\.0\.of: kafka cannot have a case with replicas=1"):
        plan(load(write(tmp_path, f"{text}answer: [{{change: more, system: kafka, {sides}}}]\n")), seed=1)


def test_presentation_changes_no_plan(tmp_path: Path) -> None:
    plain = plan(load(write(tmp_path, FILE)), seed=7).document()
    told = plan(load(write(tmp_path, f"{FILE}note: An experiment.\nanswer: [{CHANGE}]\n")), seed=7).document()

    assert told == plain


def test_presentation_is_no_change_of_what_a_scenario_runs(tmp_path: Path) -> None:
    copy = tmp_path / "scenario.yaml"
    text = find("power-loss").read_text(encoding="utf-8")
    copy.write_text(re.sub(r"(?ms)^(note|causes):.*?(?=^[a-z])", "", text), encoding="utf-8")

    assert not load(copy).scenario.causes
    assert not catalogue.has_changed(copy, "power-loss", "standard")


def run_folder(folder: Path, scenario: str, copy: str | None = None) -> Path:
    (folder / "manifest.json").write_text(json.dumps({"scenario": scenario}), encoding="utf-8")
    if copy is not None:
        (folder / "scenario.yaml").write_text(copy, encoding="utf-8")
    return folder


def test_todays_scenario_file_goes_before_the_copy_of_a_run(tmp_path: Path) -> None:
    found = presentation(run_folder(tmp_path, "power-loss", FILE))

    assert [cause.system for cause in found.causes] == ["kafka", "pulsar", "pulsar"]
    assert found.title == load(find("power-loss")).scenario.title
    assert "kafka-default-loses" in found.claims


def test_without_a_scenario_of_its_name_a_run_goes_by_its_copy(tmp_path: Path) -> None:
    assert (
        presentation(run_folder(tmp_path, "small", f"{FILE}note: An experiment.\n")).note == "An experiment."
    )


@pytest.mark.parametrize("copy", [None, "name: small\n"])
def test_a_run_without_a_scenario_of_today_has_the_default_words(tmp_path: Path, copy: str | None) -> None:
    found = presentation(run_folder(tmp_path, "small", copy))

    assert (found.comparisons, found.causes, found.note) == ((), (), "")
    assert found.labels.label("kafka", {"acks": "all"}) == "wait for all"


def test_a_scenario_file_of_today_that_is_wrong_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = write(tmp_path, "name: small\n")
    monkeypatch.setattr(catalogue, "names", lambda: {"small": wrong})

    with pytest.raises(ReportError, match=r"small\.yaml:1: title: the key 'title' is missing"):
        presentation(run_folder(tmp_path, "small"))


@pytest.mark.parametrize(
    ("system", "settings", "label"),
    [
        ("kafka", {"replicas": "4", "acks": "all"}, "4 replicas, wait for all"),
        ("kafka", {"replicas": "1", "min.insync.replicas": "1", "acks": "0"}, "1 replica, wait for nobody"),
        (
            "kafka",
            {"min.insync.replicas": "2", "acks": "all"},
            "at least 2 in sync, wait for all",
        ),
        ("kafka", {"flush.messages": "never"}, "no forced fsync"),
        ("pulsar", {"quorums": "1-1-1", "journalSyncData": "true"}, "1 copy, synced journal"),
        ("pulsar", {"quorums": "2-2-1"}, "2 copies, wait for 1"),
        ("pulsar", {"quorums": "3-3-3"}, "3 copies, wait for all"),
        ("pulsar", {"quorums": "4-2-2"}, "2 copies over 4 bookies, wait for all"),
        ("pulsar", {"quorums": "3-2-1"}, "2 copies over 3 bookies, wait for 1"),
        ("kafka", {"message_bytes": "100"}, "100 bytes"),
        ("kafka", {"message_bytes": "1000"}, "1 kB"),
        ("kafka", {"message_bytes": "1000000"}, "1 MB"),
        (
            "kafka",
            {"acknowledged": "from disk", "emulated_fsync": "5ms"},
            "acknowledged from disk, fsync +5 ms",
        ),
        ("kafka", {"emulated_fsync": "as is"}, "unmodified disk"),
        ("pulsar", {"producer.compression.type": "LZ4"}, "producer.compression.type=LZ4"),
        ("kafka", {"producer.compression.type": "lz4"}, "lz4 compression"),
        ("memory", {}, "Memory"),
    ],
)
def test_labels_are_what_a_person_would_say(system: str, settings: dict[str, str], label: str) -> None:
    assert Labels().label(system, settings) == label


def test_labels_of_different_cases_are_different() -> None:
    cases = [{"min.insync.replicas": least, "acks": acks} for least in ("1", "2") for acks in ("all", "1")]

    assert Labels().distinct("kafka", cases) == [
        "at least 1 in sync, wait for all",
        "at least 1 in sync, wait for the leader",
        "at least 2 in sync, wait for all",
        "at least 2 in sync, wait for the leader",
    ]


def _cause(**where: tuple[str, ...]) -> DeclaredCause:
    return DeclaredCause("kafka", where, "lost", 1, None, "Why.", "", "Docs")


@pytest.mark.parametrize(
    ("lost", "agrees"),
    [([1, 5], True), ([0, 5], False), ([None, 5], False), ([], False)],
)
def test_a_cause_agrees_where_every_valid_trial_shows_it(lost: list[int | None], agrees: bool) -> None:
    rows = [{"system": "kafka", "verdict": "valid", "acks": "1", "lost": count} for count in lost]
    others = [
        {"system": "kafka", "verdict": "invalid", "acks": "1", "lost": 0},
        {"system": "kafka", "verdict": "valid", "acks": "all", "lost": 0},
        {"system": "pulsar", "verdict": "valid", "acks": None, "lost": 0},
    ]

    assert _cause(acks=("1",)).agrees(pd.DataFrame([*rows, *others])) is agrees


def test_a_cause_of_a_setting_that_a_run_does_not_have_does_not_agree() -> None:
    trials = pd.DataFrame([{"system": "kafka", "verdict": "valid", "lost": 3}])

    assert not _cause(acks=("1",)).agrees(trials)
    assert _cause().agrees(trials)


def scenarios() -> list[str]:
    return sorted(names())


@pytest.mark.parametrize("name", scenarios())
def test_every_cause_agrees_with_the_published_run(name: str) -> None:
    table = PUBLISHED / name / "results" / "trials.parquet"
    if not table.is_file():
        pytest.skip("its scenario has no published run")
    trials = pd.read_parquet(table)

    wrong = [cause.cause for cause in presentation(PUBLISHED / name).causes if not cause.agrees(trials)]

    assert wrong == []


def _definitions(file: Path) -> dict[str, dict[str, object]]:
    """What each expectation of a scenario file decides, by its id, without its words."""
    entries = resolve_document(file).value.get("expectations", ())
    return {
        entry["id"]: {key: value for key, value in entry.items() if key not in {"claim", "source"}}
        for entry in entries
    }


@pytest.mark.parametrize("name", scenarios())
def test_an_expectation_that_decides_something_else_than_in_the_published_run_has_another_id(
    name: str,
) -> None:
    """A published verdict is shown with today's claim of that id."""
    copy = PUBLISHED / name / "scenario.yaml"
    if not copy.is_file():
        pytest.skip("it has no published run")
    ran, today = _definitions(copy), _definitions(find(name))

    assert [one for one in ran if one in today and ran[one] != today[one]] == []


def _sentences(scenario: Scenario) -> list[str]:
    causes = [sentence for cause in scenario.causes for sentence in (cause.cause, cause.prevention or "")]
    advice = [sentence for comparison in scenario.answer for sentence in comparison.advice.values()]
    return [*causes, *advice, scenario.note]


@pytest.mark.parametrize("name", scenarios())
def test_what_scenarios_say_of_their_results_is_short_and_plain(name: str) -> None:
    scenario = load(find(name)).scenario
    changes = [comparison.change or "" for comparison in scenario.answer]
    words = [word for values in scenario.labels.values() for word in values.values()]

    said = [*_sentences(scenario), *changes, *words]

    assert [sentence for sentence in said if len(sentence.split()) > MOST_WORDS] == []
    assert [sentence for sentence in said if NOT_PLAIN.search(sentence)] == []
    assert [sentence for sentence in _sentences(scenario) if sentence and sentence[-1] != "."] == []


@pytest.mark.parametrize("name", catalogue.families()["durability"])
def test_every_performance_scenario_declares_what_answers_it(name: str) -> None:
    assert load(find(name)).scenario.answer


@pytest.mark.parametrize("name", of_the_usual_versions())
def test_every_declared_comparison_is_of_cases_that_can_exist(name: str) -> None:
    loaded = load(find(name))

    assert not loaded.scenario.answer or plan(loaded, seed=1).trials


def test_no_profile_has_presentation_keys_in_the_json_schema() -> None:
    schema = json.loads((Path(__file__).parents[2] / "scenarios" / "scenario.schema.json").read_text("utf-8"))

    assert set(KEYS) <= schema["properties"].keys()
    assert not schema["$defs"]["Profile"]["properties"].keys() & set(KEYS)
