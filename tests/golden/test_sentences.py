"""Whole sentences of answers, to be read as prose."""

from __future__ import annotations

from typing import Any

import pytest

from bench.report.answer.configurations import Measure, ValueText
from bench.report.answer.effect import Effect, EffectOutcome
from bench.report.answer.sentences import sentence

SLOWER = Effect(1.73, 1.21, 2.34, 5)
SMALL = Effect(1.012, 0.98, 1.04, 5)
OPEN = Effect(1.04, 0.97, 1.12, 5)
BARE = Effect(2.5, None, None, 1)

CHANGE = {
    "change": "waiting for all four replicas instead of only the leader",
    "system": "Kafka",
    "measure": Measure.SEND,
    "metric": "the p99 time of a send",
    "smallest": "5 %",
    "of": ValueText(ms="1.41", rate="711", bytes="62.6", time="4.81 ms"),
    "to": ValueText(ms="0.812", rate="1,231", bytes="1.15", time="3.51 ms"),
}
GUARANTEE = {
    "guarantee": "the loss of any one node, not a power cut",
    "at": "",
    "again": False,
    "measure": Measure.SEND,
    "metric": "the p99 response time",
    "smallest": "5 %",
    "first": "Kafka",
    "second": "Pulsar",
    "of": ValueText(ms="0.657", rate="1,523", time="4.81 ms"),
    "to": ValueText(ms="1.62", rate="619", time="3.51 ms"),
}


def change(outcome: EffectOutcome, effect: Effect = SLOWER, **others: Any) -> str:
    return sentence("change", CHANGE | {"outcome": outcome, "effect": effect.upward.slots} | others)


def guarantee(outcome: str, effect: Effect = SLOWER, **others: Any) -> str:
    return sentence("guarantee", GUARANTEE | {"outcome": outcome, "effect": effect.upward.slots} | others)


def test_a_change_that_slows_one_send_down() -> None:
    assert change(EffectOutcome.LESS) == (
        "On Kafka, waiting for all four replicas instead of only the leader made a send 1.73 times as long "
        "(95 % interval 1.21 to 2.34): 1.41 against 0.812 ms, one at a time."
    )


def test_a_change_that_speeds_one_send_up() -> None:
    assert change(EffectOutcome.MORE, change="one replica instead of four") == (
        "On Kafka, one replica instead of four made a send 1.73 times as fast (95 % interval 1.21 to 2.34): "
        "1.41 against 0.812 ms, one at a time."
    )


def test_a_change_of_a_rate() -> None:
    assert change(EffectOutcome.LESS, measure=Measure.RATE, change="twelve partitions instead of one") == (
        "On Kafka, twelve partitions instead of one lowered throughput 1.73 times (95 % interval 1.21 to 2.34): "
        "711 against 1,231 messages/s."
    )
    assert change(EffectOutcome.MORE, measure=Measure.BYTES, change="messages of 100 kB instead of 1 kB") == (
        "On Kafka, messages of 100 kB instead of 1 kB raised throughput 1.73 times (95 % interval 1.21 to 2.34): "
        "62.6 against 1.15 MB/s."
    )


def test_a_change_of_a_time() -> None:
    assert change(EffectOutcome.MORE, measure=Measure.TIME, change="waiting for the slow follower") == (
        "On Kafka, waiting for the slow follower made the p99 time of a send 1.73 times as long "
        "(95 % interval 1.21 to 2.34): 4.81 ms against 3.51 ms."
    )
    assert change(EffectOutcome.LESS, measure=Measure.TIME, change="a smaller ack quorum").startswith(
        "On Kafka, a smaller ack quorum shortened the p99 time of a send 1.73 times (95 % interval 1.21 to 2.34): "
    )


def test_a_change_without_a_difference_that_matters() -> None:
    assert change(EffectOutcome.SAME, SMALL, change="syncing the journal") == (
        "On Kafka, syncing the journal made no difference larger than 5 % "
        "(1.01 times, 95 % interval 0.98 to 1.04): "
        "1.41 against 0.812 ms, one at a time."
    )


def test_a_change_that_is_not_decided() -> None:
    assert change(EffectOutcome.UNDECIDED, OPEN, change="syncing the journal").startswith(
        "For syncing the journal, no difference can be told on Kafka (1.04 times, 95 % interval 0.97 to 1.12): "
    )
    assert change(EffectOutcome.UNDECIDED, BARE, change="syncing the journal").startswith(
        "For syncing the journal, no difference can be told on Kafka (2.5 times, 1 round, no interval): "
    )


def test_both_systems_at_one_guarantee() -> None:
    assert guarantee("decided") == (
        "Where a message survives the loss of any one node, not a power cut, Kafka was 1.73 times as fast as "
        "Pulsar (95 % interval 1.21 to 2.34): 0.657 against 1.62 ms a send, one at a time."
    )
    assert guarantee("decided", measure=Measure.RATE, at="12 partitions", guarantee="nothing") == (
        "Where a message survives nothing (12 partitions), Kafka carried 1.73 times as many messages as Pulsar "
        "(95 % interval 1.21 to 2.34): 1,523 against 619 messages/s."
    )
    assert guarantee(
        "decided", measure=Measure.TIME, first="Pulsar", second="Kafka", guarantee="nothing"
    ) == (
        "Where a message survives nothing, the p99 response time was 1.73 times as long on Kafka as on Pulsar "
        "(95 % interval 1.21 to 2.34): 4.81 ms against 3.51 ms."
    )


def test_both_systems_without_a_winner() -> None:
    assert guarantee("same", SMALL, guarantee="nothing").startswith(
        "Where a message survives nothing, Kafka and Pulsar showed no difference larger than 5 % "
        "(1.01 times, 95 % interval 0.98 to 1.04): "
    )
    assert guarantee("undecided", OPEN, guarantee="nothing").startswith(
        "Where a message survives nothing, no difference can be told between Kafka and Pulsar "
        "(1.04 times, 95 % interval 0.97 to 1.12): "
    )
    assert guarantee("undecided", OPEN, guarantee="nothing", measure=Measure.TIME).startswith(
        "Where a message survives nothing, no difference can be told in the p99 response time between Kafka and "
        "Pulsar (1.04 times, "
    )


def test_a_second_sentence_on_one_guarantee_names_only_what_differs() -> None:
    assert guarantee("decided", first="Pulsar", second="Kafka", again=True, at="fsync +5 ms").startswith(
        "At the same guarantee with fsync +5 ms, Pulsar was 1.73 times as fast as Kafka "
    )


def test_an_interval_whose_confidence_is_not_known_is_only_called_interval() -> None:
    bootstrap = Effect(2.48, 2.4, 2.58, 5, "interval")

    assert "(interval 2.4 to 2.6)" in guarantee("decided", bootstrap)


RANGE = {
    "guarantee": "a power cut",
    "measure": Measure.SEND,
    "metric": "the p99 response time",
    "first": "Kafka",
    "second": "Pulsar",
    "low": "1.25",
    "high": "2.1",
    "behind_low": "1.10",
    "behind_high": "1.10",
    "points": 7,
    "along": "partitions",
}


def test_one_system_ahead_at_every_point() -> None:
    slots = RANGE | {"outcome": "decided", "ahead": 7, "behind": 0, "open_points": 0}

    assert sentence("guarantee-range", slots) == (
        "Where a message survives a power cut, Kafka was 1.25 to 2.1 times as fast as Pulsar, at all 7 points of "
        "partitions."
    )


def test_no_system_ahead_at_every_point() -> None:
    slots = RANGE | {"outcome": "mixed", "ahead": 4, "behind": 1, "open_points": 2}

    assert sentence("guarantee-range", slots) == (
        "Where a message survives a power cut, Kafka was ahead at 4 of 7 points of partitions (1.25 to 2.1 times), "
        "Pulsar at 1 (1.10 times); at 2 no difference can be told."
    )
    assert sentence("guarantee-range", slots | {"ahead": 0, "behind": 0, "open_points": 7}) == (
        "Where a message survives a power cut, no difference can be told between Kafka and Pulsar at any of 7 points "
        "of partitions."
    )


def disks(*leaders: str) -> list[dict[str, Any]]:
    added = ("1 ms", "10 ms")
    return [
        {"added": length, "first": first, "effect": effect.slots}
        for length, first, effect in zip(added, leaders, (SLOWER, Effect(2.7, 2.6, 2.8, 5)), strict=True)
    ]


def test_slower_disks() -> None:
    turned = {
        "ahead": "Pulsar",
        "stays": False,
        "cross": "",
        "disks": disks("Pulsar", "Pulsar"),
    }
    mixed = turned | {"ahead": "", "disks": disks("", "Pulsar")}

    assert sentence("slower-disks", turned) == (
        "Where a message survives a power cut, Pulsar was ahead on slower disks: 1.73 times (95 % interval 1.21 to "
        "2.34) with 1 ms more an fsync, 2.7 times (2.6 to 2.8) with 10 ms."
    )
    crossed = sentence("slower-disks", turned | {"cross": "0.27 ms (0.2 to 0.28)"})
    assert crossed.startswith(
        "Where a message survives a power cut, Pulsar was ahead on slower disks, from 0.27 ms (0.2 to 0.28) an fsync "
        "on: 1.73 times ("
    )
    assert sentence("slower-disks", mixed) == (
        "Where a message survives a power cut, on slower disks: no difference can be told with 1 ms more an fsync; "
        "Pulsar 2.7 times as fast with 10 ms more an fsync."
    )


def test_what_was_lost() -> None:
    slots = {
        "acknowledged": "2.6 million",
        "trials": "150 trials",
        "unread": "",
        "unpromised": "",
        "lost": "0",
    }

    assert sentence("loss-none", slots) == (
        "Without faults no acknowledged message was lost (2.6 million in 150 trials)."
    )
    assert sentence("loss-none", slots | {"unpromised": "1.1 million", "unread": "2 trials"}) == (
        "Without faults no acknowledged message was lost (2.6 million in 150 trials), nor any sent without "
        "waiting for an acknowledgement; 2 trials could not be read to the end."
    )
    assert sentence("loss-unpromised", slots | {"unpromised": "90,000", "lost": "312"}) == (
        "No message was lost that a configuration promises to keep (2.6 million in 150 trials); without a promise 312 "
        "of 90,000 were."
    )


def test_a_loss() -> None:
    slots = {
        "lost": "312",
        "acknowledged": "320,000",
        "losing": 2,
        "configurations": "12 configurations",
        "worst": "Kafka (4 replicas, wait for the leader)",
        "most": "300",
        "of": "20,000",
    }

    assert sentence("loss", slots) == (
        "312 of 320,000 acknowledged messages were lost, in 2 of 12 configurations; the largest share with Kafka "
        "(4 replicas, wait for the leader): 300 of 20,000."
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("lost", "Kafka (4 replicas) lost 3 of 20,000 acknowledged messages, although nothing failed."),
        (
            "unread",
            "Kafka (4 replicas): 3 of 20,000 acknowledged messages could not be read, although nothing failed.",
        ),
        (
            "duplicated",
            "Kafka (4 replicas): 3 duplicates in the log, although the configuration promises none.",
        ),
    ],
)
def test_an_alarm(kind: str, words: str) -> None:
    slots = {"name": "Kafka (4 replicas)", "kind": kind, "count": "3", "acknowledged": "20,000"}

    assert sentence("alarm", slots) == words


def test_conditions() -> None:
    slots = {
        "versions": "Kafka 4.3.1 and Pulsar 4.0.7",
        "machine": "one machine, whose 2 cores servers and load share",
        "load": "1 producer, one send open at a time, messages of 1,000 bytes",
        "rounds": "5 rounds",
        "unlost": "",
        "fsync": "151 µs",
    }

    assert sentence("conditions", slots) == (
        "Kafka 4.3.1 and Pulsar 4.0.7 on one machine, whose 2 cores servers and load share; 1 producer, one send open "
        "at a time, messages of 1,000 bytes; 5 rounds; an fsync takes 151 µs."
    )
    assert sentence("conditions", slots | {"unlost": "5 trials", "may_lose": "45 %"}).endswith(
        "5 rounds; where none of 5 trials lost a message, up to 45 % of such trials may still lose one (95 % "
        "confidence); an fsync takes 151 µs."
    )


def uncapitalised(text: str) -> str:
    return text[:1].lower() + text[1:]


@pytest.mark.parametrize(
    ("slots", "words"),
    [
        ({"ends": [("2.8", False)], "interval": "2.5 to 3.1", "comparisons": 1}, "2.8 times, 2.5 to 3.1"),
        (
            {"ends": [("1.04", False), ("2.8", False)], "comparisons": 6},
            "1.04 to 2.8 times, 6 comparisons",
        ),
        (
            {"ends": [("1.22", True), ("2.8", False)], "comparisons": 6},
            "1.22 times the other way to 2.8 times, 6 comparisons",
        ),
        (
            {"ends": [("1.04", False)], "interval": "1.01 to 1.07", "comparisons": 1, "small": "5 %"},
            "1.04 times, 1.01 to 1.07; effects below 5 % hardly matter",
        ),
    ],
)
def test_the_size_of_an_effect(slots: dict[str, Any], words: str) -> None:
    unset = {"most_apart": "", "interval": "", "opposite": "the other way", "small": ""}

    assert uncapitalised(sentence("effect", unset | slots)) == words


def test_what_trials_came_to() -> None:
    slots = {"ends": ["4.31 ms", "7.8 ms"], "never": 0, "missing": 0, "trials": "10 trials"}

    assert sentence("effect-values", slots) == "4.31 ms to 7.8 ms in 10 trials"
    assert sentence("effect-values", slots | {"never": 2, "missing": 1}) == (
        "4.31 ms to 7.8 ms in 10 trials, without an end in 2 of them, without a value in 1 of them"
    )
    assert sentence("effect-values", slots | {"ends": [], "never": 10}) == "No value in 10 trials"


@pytest.mark.parametrize(
    ("kind", "slots", "words"),
    [
        ("notice-more", {"more": 2}, "And 2 more behind this page."),
        (
            "notice-unequal",
            {
                "first": "Kafka",
                "second": "Pulsar",
                "first_guarantee": "a power cut",
                "second_guarantee": "nothing",
            },
            (
                "Kafka and Pulsar do not promise the same here, so no ratio compares them: a message survives "
                "a power cut on Kafka, nothing on Pulsar."
            ),
        ),
        (
            "notice-client",
            {"limited": 5, "trials": 5, "system": "Pulsar"},
            (
                "In 5 of 5 trials the load process limited Pulsar: its rate is what one client can send, not what the "
                "servers can carry."
            ),
        ),
        (
            "notice-cores",
            {"full": 8, "trials": 10, "cores": "2 cores"},
            (
                "In 8 of 10 trials every one of the 2 cores was busy, with servers and load together: compare "
                "configurations, but expect other rates of brokers on machines of their own."
            ),
        ),
        (
            "notice-other-work",
            {"count": 1, "trials": "200 trials", "least": "0.5", "cores": "2 cores"},
            (
                "In 1 of 200 trials other work took more than 0.5 of the 2 cores: use the counts of these trials, not "
                "their times."
            ),
        ),
        (
            "notice-other-traffic",
            {"rate": "1,200", "count": 2, "trials": "10 trials"},
            (
                "Others wrote up to 1,200 messages/s to the same cluster during 2 of 10 trials: rates and times are "
                "those beside that traffic."
            ),
        ),
        (
            "notice-uneven",
            {"factor": "3.2"},
            (
                "The machine's speed varied: the same computation took up to 3.2 times as long before some trials, so "
                "intervals are wider than the systems alone would make them."
            ),
        ),
        (
            "spread",
            {
                "system": "Kafka",
                "measure": Measure.SEND,
                "metric": "",
                "count": 12,
                "fastest": "1 replica",
                "slowest": "4 replicas, wait for all",
                "best": ValueText(ms="0.328", rate="3,045"),
                "worst": ValueText(ms="1.41", rate="711"),
            },
            (
                "On Kafka a send took 0.328 ms (1 replica) to 1.41 ms (4 replicas, wait for all), the ends of 12 "
                "configurations; 3,045 to 711 messages/s."
            ),
        ),
    ],
)
def test_other_sentences(kind: str, slots: dict[str, Any], words: str) -> None:
    assert sentence(kind, slots) == words
