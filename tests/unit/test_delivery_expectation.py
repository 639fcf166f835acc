"""`no_message_is`: short forms of expectations, and what they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import ScenarioError
from bench.run.plan import plan
from bench.scenario import load

HEAD = """\
name: small
title: A small one
question: Does it read?
systems:
  kafka:
    topic: {replicas: 1}
    faults: [{name: leader killed, when: {acks: 1}, kill: leader}]
  pulsar: {topic: {quorums: 1-1-1}}
duration: 2s
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "small.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    return file


def test_a_short_form_is_an_expectation_for_each_system_and_word(tmp_path: Path) -> None:
    scenario = load(write(tmp_path, "expectations: [{no_message_is: [lost, out of order]}]\n")).scenario

    assert [(entry.id, entry.system, entry.metric, entry.at_most) for entry in scenario.expectations] == [
        ("kafka-nothing-lost", "kafka", "lost", 0),
        ("kafka-in-order", "kafka", "out_of_order", 0),
        ("pulsar-nothing-lost", "pulsar", "lost", 0),
        ("pulsar-in-order", "pulsar", "out_of_order", 0),
    ]


def test_its_claim_says_where_nothing_breaks(tmp_path: Path) -> None:
    scenario = load(write(tmp_path, "expectations: [{no_message_is: lost}]\n")).scenario

    assert [entry.claim for entry in scenario.expectations] == [
        "No acknowledged message is lost",
        "Without a fault no acknowledged message is lost",
    ]


def test_a_short_form_of_one_system_has_a_source(tmp_path: Path) -> None:
    text = "expectations: [{no_message_is: duplicated, system: pulsar, source: Docs}]\n"
    (entry,) = load(write(tmp_path, text)).scenario.expectations

    assert (entry.id, entry.claim, entry.metric) == ("pulsar-once", "No message is duplicated", "duplicates")
    assert entry.source == "Docs"


def test_others_keep_their_order_and_their_lines(tmp_path: Path) -> None:
    entry = "{{id: {id}, claim: Few, system: kafka, metric: {metric}, at_most: 1}}"
    text = (
        f"expectations:\n  - {entry.format(id='before', metric='lost')}\n  - no_message_is: lost\n"
        f"  - {entry.format(id='after', metric='lost')}\n"
    )
    scenario = load(write(tmp_path, text)).scenario

    assert [entry.id for entry in scenario.expectations] == [
        *("before", "kafka-nothing-lost", "pulsar-nothing-lost", "after"),
    ]
    with pytest.raises(ScenarioError, match=r"small\.yaml:13: expectations\.3: metric 'tps'"):
        load(
            write(
                tmp_path,
                text.replace(
                    "id: after, claim: Few, system: kafka, metric: lost",
                    "id: after, claim: Few, system: kafka, metric: tps",
                ),
            )
        )


def test_a_mistake_of_one_that_was_written_out_names_the_short_form(tmp_path: Path) -> None:
    text = "expectations:\n  - no_message_is: lost\n  - {no_message_is: lost, system: kafka}\n"

    with pytest.raises(ScenarioError, match=r"small\.yaml:11: .*'kafka-nothing-lost' is the id of two"):
        plan(load(write(tmp_path, text)), seed=1)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{no_message_is: gone}", "no_message_is: 'lost', 'duplicated' or 'out of order'"),
        ("{no_message_is: []}", "no_message_is: "),
        ("{no_message_is: lost, claim: No}", "claim: there is no such key"),
        ("{no_message_is: lost, system: rabbit}", "system: "),
    ],
)
def test_a_wrong_short_form_is_refused(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(write(tmp_path, f"expectations:\n  - {entry}\n"))

    assert f"small.yaml:11: expectations.0.{message}" in str(caught.value)


def test_profiles_and_overrides_have_short_forms(tmp_path: Path) -> None:
    file = write(tmp_path, "profiles: {quick: {expectations: [{no_message_is: lost, system: kafka}]}}\n")

    assert [entry.id for entry in load(file, "quick").scenario.expectations] == ["kafka-nothing-lost"]
    (entry,) = load(
        file, overrides=["expectations=[{no_message_is: duplicated, system: kafka}]"]
    ).scenario.expectations
    assert entry.id == "kafka-once"
