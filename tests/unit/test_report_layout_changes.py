"""What a report says of who served and kept a topic."""

from __future__ import annotations

from typing import Any

from bench.records.trial import HistoryRecord
from bench.report.sections.layout_changes import layout_changes

SECOND = 1_000_000_000
FIRST, SECOND_HOME = ["b1", "b2"], ["b1", "b3"]


def looks(*partitions: dict[str, Any]) -> list[HistoryRecord]:
    """A history with a look a second, each at one partition."""
    return [HistoryRecord(at_ns=number * SECOND, partitions=[one]) for number, one in enumerate(partitions)]


def pulsar(
    *ledgers: tuple[int, list[list[str]]], owner: str | None = "p1", partition: int = 0
) -> dict[str, Any]:
    """What is told of a partition; each ledger with its ensembles, a hundred entries apart."""
    kept = [
        {"ledger": ledger, "segments": [[100 * number, bookies] for number, bookies in enumerate(ensembles)]}
        for ledger, ensembles in ledgers
    ]
    return {"partition": partition, "owner": owner, "ledgers": kept}


def said(history: list[HistoryRecord]) -> list[str]:
    return [f"{fact.term}: {fact.text}" for fact in layout_changes(history, 0, "ledger")]


def test_a_leader_is_told_as_far_as_it_told_itself() -> None:
    leads = {"partition": 0, "leader": "broker-2", "in_sync": ["broker-2"]}

    assert said(
        looks(
            leads | {"epoch": 1, "high_watermark": 24003},
            leads | {"epoch": None, "high_watermark": None},
            leads | {"leader": None, "epoch": -1, "high_watermark": None},
        )
    ) == [
        "0.0 s: partition 0: leader broker-2, in sync broker-2, epoch 1, high watermark 24,003.",
        "1.0 s: partition 0: leader broker-2, in sync broker-2, which does not tell its epoch and high watermark yet.",
        "2.0 s: partition 0: nobody leads it.",
    ]


def test_of_ledgers_only_what_changed_is_told() -> None:
    history = looks(
        pulsar((1, [FIRST])),
        pulsar((1, [FIRST, SECOND_HOME])),  # goes on on another node
        pulsar((1, [FIRST, SECOND_HOME]), (2, [SECOND_HOME]), owner="p2"),
        pulsar((1, [SECOND_HOME, SECOND_HOME]), (2, [SECOND_HOME]), owner=None),  # copied
        pulsar((2, [SECOND_HOME])),
    )

    assert said(history) == [
        "0.0 s: partition 0: owner p1; ledger 1 on b1/b2 from entry 0.",
        "1.0 s: partition 0: ledger 1 now on b1/b2 from entry 0, b1/b3 from entry 100.",
        "2.0 s: partition 0: owner p2; ledger 2 on b1/b3 from entry 0.",
        "3.0 s: partition 0: owner nobody; ledger 1 now on b1/b3 from entry 0, b1/b3 from entry 100.",
        "4.0 s: partition 0: owner p1; 1 ledger gone.",
    ]


def test_ledgers_that_follow_each_other_are_told_together() -> None:
    many = [(number, [FIRST]) for number in range(1, 8)]
    moved = [(number, [SECOND_HOME]) for number in range(1, 6)]
    history = looks(
        pulsar(*many[:1]),
        pulsar(*many[:3]),
        pulsar(*many[:3]),  # nothing is new
        pulsar(*many[:5]),
        pulsar(*moved),
        pulsar(*moved, (6, [FIRST, SECOND_HOME])),
        pulsar(*moved, (6, [FIRST, SECOND_HOME]), (7, [FIRST])),
        {"partition": 0, "owner": "p1", "ledgers": []},
    )

    assert said(history) == [
        "0.0 s: partition 0: owner p1; ledger 1 on b1/b2 from entry 0.",
        "1.0 to 3.0 s: partition 0: 4 new ledgers, the last of them ledger 5 on b1/b2 from entry 0.",
        (
            "4.0 s: partition 0: ledger 1 now on b1/b3 from entry 0; ledger 2 now on b1/b3 from entry 0; "
            "ledger 3 now on b1/b3 from entry 0; 2 more ledgers now on other nodes."
        ),
        "5.0 s: partition 0: ledger 6 on b1/b2 from entry 0, b1/b3 from entry 100.",
        "6.0 s: partition 0: ledger 7 on b1/b2 from entry 0.",
        "7.0 s: partition 0: 7 ledgers gone.",
    ]


def test_of_many_partitions_a_few_are_told() -> None:
    every = [pulsar((number, [FIRST]), partition=number) for number in range(5)]
    next_ones = [pulsar((number, [FIRST]), (number + 10, [FIRST]), partition=number) for number in range(5)]

    first, second = said(
        [HistoryRecord(at_ns=0, partitions=every), HistoryRecord(at_ns=SECOND, partitions=next_ones)]
    )

    assert first.endswith("partition 2: owner p1; ledger 2 on b1/b2 from entry 0; 2 more partitions changed.")
    assert second.endswith("partition 2: ledger 12 on b1/b2 from entry 0; 2 more partitions changed.")
