import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bench.errors import ScenarioError
from bench.faults.schema import document
from bench.run.plan import plan
from bench.scenario import cases, find, load, names
from tests.catalogue import of_the_usual_versions

MINIMAL = """\
name: small
title: A small one
question: Does it read?
systems:
  kafka:
    topic:
      replicas: [1, 2]
    producer: {acks: all}
duration: 2s
"""


def write(folder: Path, text: str, name: str = "small") -> Path:
    file = folder / f"{name}.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(write(folder, text))
    return str(caught.value)


def test_a_list_is_swept_and_the_rest_is_fixed(tmp_path: Path) -> None:
    found = cases(load(write(tmp_path, MINIMAL)).scenario, lambda _system: "4.3.1")

    assert [case.name for case in found] == ["kafka replicas=1", "kafka replicas=2"]
    assert [case.swept for case in found] == [{"replicas": 1}, {"replicas": 2}]
    assert {str(case.producer["acks"]) for case in found} == {"all"}


def test_sweeps_multiply_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = MINIMAL.replace("{acks: all}", "{acks: [all, 1]}") + "topic: {partitions: [1, 12]}\n"

    found = cases(load(write(tmp_path, text)).scenario, lambda _system: "4.3.1")

    assert len(found) == 2 * 2 * 2
    assert found[0].name == "kafka partitions=1 replicas=1 acks=all"


def test_versions_are_swept_on_clusters_of_their_own(tmp_path: Path) -> None:
    text = MINIMAL.replace("replicas: [1, 2]", "replicas: 1").replace(
        "  kafka:\n", '  kafka:\n    version: ["3.9.2", "4.4.0"]\n'
    )

    found = cases(load(write(tmp_path, text)).scenario, lambda _system: "4.3.1")

    assert [case.name for case in found] == ["kafka version=3.9.2", "kafka version=4.4.0"]
    assert [case.cluster.version for case in found] == ["3.9.2", "4.4.0"]


STEPS_BY_VARIANT = """\
name: small
title: A small one
question: Does it read?
expectations:
  - {id: one, claim: It holds, system: kafka, metric: ack_gap_ns, fault: FAULT, at_most: 1}
systems:
  kafka:
    nodes: {broker: 3}
    variants:
      way:
        killed: {faults: [{name: gone, when: {after: 1s}, kill: broker-1}]}
        added:
          nodes: {broker: 4}
          spare: {broker: 1}
          faults: [{name: there, when: {after: 1s}, start: broker-4, heal: never}]
        undisturbed: {faults: []}
consumers: 1
duration: 5s
repeats: 1
"""


def test_a_variant_has_steps_and_spare_nodes_of_its_own(tmp_path: Path) -> None:
    text = STEPS_BY_VARIANT.replace("FAULT", "there")

    trials = plan(load(write(tmp_path, text)), 1).trials

    cases_by_way = {trial.case.swept["way"]: trial.case for trial in trials}
    assert {way: [step["name"] for step in case.faults] for way, case in cases_by_way.items()} == {
        "killed": ["gone"],
        "added": ["there"],
        "undisturbed": [],
    }
    assert {way: dict(case.cluster.spare) for way, case in cases_by_way.items()} == {
        "killed": {},
        "added": {"broker": 1},
        "undisturbed": {},
    }


OTHER = "      other:\n        a: {faults: []}\n        b: {faults: []}\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("FAULT", "gon", "'one' speaks of a step 'gon', which kafka does not have; one of gone, there"),
        (
            "kill: broker-1",
            "kill: broker-7",
            "systems.kafka.variants.way.killed.faults.0: kafka has no target",
        ),
        (
            "faults: []",
            "faults: [{name: x, kil: y}]",
            "variants.way.undisturbed.faults.0.kil: there is no such",
        ),
        ("spare: {broker: 1}", "spare: {broker: 4}", "variants.way.added.spare.broker: one broker at least"),
        ("consumers: 1\n", f"{OTHER}consumers: 1\n", "variants.way and variants.other both have faults"),
    ],
)
def test_wrong_steps_of_a_variant_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = STEPS_BY_VARIANT.replace(old, new).replace("FAULT", "there")

    with pytest.raises(ScenarioError, match=re.escape(said)):
        plan(load(write(tmp_path, text)), 1)


def test_settings_of_one_name_are_told_apart_by_their_owner(tmp_path: Path) -> None:
    text = MINIMAL.replace("replicas: [1, 2]", "compression.type: [producer, lz4]").replace(
        "{acks: all}", "{compression.type: [none, lz4]}"
    )

    found = cases(load(write(tmp_path, text)).scenario, lambda _system: "4.3.1")

    assert list(found[0].swept) == ["topic.compression.type", "producer.compression.type"]


def test_an_unknown_key_is_refused_with_line_and_nearest_name(tmp_path: Path) -> None:
    said = complaint(tmp_path, MINIMAL.replace("duration:", "duratoin:"))

    assert f"{tmp_path}/small.yaml:9: duratoin: there is no such key; did you mean 'duration'?" in said


def test_an_unknown_key_deep_down_is_refused_with_what_is_allowed_there(tmp_path: Path) -> None:
    said = complaint(tmp_path, MINIMAL + "load: {producer: 3}\n")

    assert ":10: load.producer: there is no such key; did you mean 'producers'?" in said
    assert "allowed here: producers, message_bytes, window, rate, processes, keys, schedule" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("duration: 2s", "duration: 2", "a duration is a number with its unit: 500ms, 6s, 2m, 1h; it is 2"),
        ("duration: 2s", "duration: 2s\nmessages: 5", "give duration or messages"),
        ("duration: 2s", "duration: 2s\nrepeats: 0", "greater than or equal to 1; it is 0"),
        ("duration: 2s", 'duration: 2s\nrepeats: "5"', "a valid integer; it is '5'"),
        ("replicas: [1, 2]", "replicas: [1, 1]", "a value stands twice in this sweep"),
        ("duration: 2s", "duration: 2s\nduration: 3s", "key 'duration' stands twice"),
        ("name: small", "name: other", "name is 'other', the file's is 'small'"),
        ("title: A small one\n", "", "the key 'title' is missing"),
        (
            "duration: 2s",
            "duration: 2s\nload: {rate: 5, schedule: [{rate: 1, for: 1s}]}",
            "give rate or schedule",
        ),
        ("duration: 2s", "duration: 2s\nload: {schedule: []}", "List should have at least 1 item"),
        ("duration: 2s", "duration: 2s\nload: {rate: [5, 5]}", "a value stands twice in this sweep"),
        (
            "duration: 2s",
            "duration: 2s\nwarm_up: 5s",
            "a mapping of keys is wanted here: cluster, trial; it is '5s'",
        ),
        ("duration: 2s", "duration: !sec 2", "this is not YAML: could not determine a constructor"),
        (
            "duration: 2s",
            "duration: 2s\nsource: 2026-13-45",
            "'2026-13-45' is no value: month must be in 1..12",
        ),
        (
            "duration: 2s",
            "duration: 2s\nload: &a {schedule: *a}",
            "stands for something that it is a part of",
        ),
        ("duration: 2s", "duration: [", "this is not YAML"),
        ("duration: 2s", "duration: " + 100_000 * "[", "more than 10,000 lists and mappings"),
        ("duration: 2s", "duration:\n  " + 100_000 * "- ", "more than 10,000 lists and mappings"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in complaint(tmp_path, MINIMAL.replace(old, new))


def test_an_expectation_about_a_metric_that_is_not_there_is_refused(tmp_path: Path) -> None:
    text = MINIMAL + "expectations: [{id: a, claim: b, system: kafka, metric: tps, at_most: 1}]\n"

    assert "metric 'tps' is no column of results/trials" in complaint(tmp_path, text)


@pytest.mark.parametrize("words", ["metric: errors", "metric: lost, error: NOT_ENOUGH_REPLICAS"])
def test_a_count_of_errors_names_the_error_and_nothing_else_does(tmp_path: Path, words: str) -> None:
    text = MINIMAL + f"expectations: [{{id: a, claim: b, system: kafka, {words}, at_least: 1}}]\n"
    assert "the metric 'errors' and the name of an error go together" in complaint(tmp_path, text)


FAULT = "    faults: [{name: leader killed, when: {acks: 1}, kill: leader}]\nduration"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("metric: lost, fault: leader killed", "metric 'lost' is no column of results/faults"),
        ("metric: step_ns, since: leader killed", "`since` and `until`, go together"),
        ("metric: lost, since: leader killed, until: leader killed", "`since` and `until`, go together"),
    ],
)
def test_an_expectation_about_a_step_names_one_that_is_there(tmp_path: Path, words: str, said: str) -> None:
    text = MINIMAL.replace("duration", FAULT)
    text += f"expectations: [{{id: a, claim: b, system: kafka, {words}, at_most: 1}}]\n"

    assert said in complaint(tmp_path, text)


def _without_a_description(schema: object, path: str = "") -> Iterator[str]:
    if isinstance(schema, dict):
        for name, key in schema.get("properties", {}).items():
            if isinstance(key, dict) and "description" not in key:
                yield f"{path}.{name}"
        for name, part in schema.items():
            yield from _without_a_description(part, f"{path}.{name}")
    elif isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from _without_a_description(part, f"{path}.{number}")


def test_every_key_of_a_scenario_is_described() -> None:
    assert list(_without_a_description(document())) == []


def test_a_profile_lies_over_the_file_and_keeps_its_lines(tmp_path: Path) -> None:
    text = MINIMAL + "profiles:\n  quick:\n    repeats: 1\n    load: {producers: many}\n"
    file = write(tmp_path, text)

    assert load(file, "standard").scenario.repeats == 5
    with pytest.raises(ScenarioError, match=r"small\.yaml:13: load\.producers"):
        load(file, "quick")


def test_an_override_reaches_names_with_dots_of_their_own(tmp_path: Path) -> None:
    file = write(tmp_path, MINIMAL)

    loaded = load(file, overrides=["systems.kafka.topic.min.insync.replicas=2", "load.producers=10"])

    assert loaded.scenario.systems.specs()["kafka"].topic["min.insync.replicas"] == 2
    assert loaded.scenario.load.producers == 10


def test_a_wrong_override_is_named_as_one(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"--set load\.producer=3: load\.producer: there is no such key"):
        load(write(tmp_path, MINIMAL), overrides=["load.producer=3"])


def test_an_unknown_scenario_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'acks-sweep'"):
        find("ack-sweep")


@pytest.mark.parametrize("name", sorted(names()))
@pytest.mark.parametrize("profile", ["quick", "standard", "full"])
def test_every_scenario_of_the_catalogue_reads_in_every_profile(name: str, profile: str) -> None:
    assert load(find(name), profile).scenario.question


@pytest.mark.parametrize("name", of_the_usual_versions())
@pytest.mark.parametrize("profile", ["quick", "standard", "full"])
def test_a_scenario_of_the_usual_versions_can_be_planned_in_every_profile(name: str, profile: str) -> None:
    assert plan(load(find(name), profile), seed=1).trials


@pytest.mark.parametrize("name", sorted(names()))
def test_every_scenario_names_its_schema_in_its_first_line(name: str) -> None:
    first = find(name).read_text(encoding="utf-8").splitlines()[0]

    assert first == "# yaml-language-server: $schema=../scenario.schema.json"


def test_the_exported_schema_is_the_one_of_the_code() -> None:
    file = Path(__file__).parents[2] / "scenarios" / "scenario.schema.json"

    assert yaml.safe_load(file.read_text(encoding="utf-8")) == document()
