from typing import Any

import pytest

from bench.analysis.faults.copies import back_ns, missing_ns


def isr(at: int, *nodes: str) -> dict[str, Any]:
    return {"at_ns": at, "partitions": [{"partition": 0, "leader": nodes[0], "in_sync": list(nodes)}]}


def kept(at: int, *segments: tuple[str, ...]) -> dict[str, Any]:
    ledger = {"ledger": 1, "segments": [[number, list(bookies)] for number, bookies in enumerate(segments)]}
    return {"at_ns": at, "partitions": [{"partition": 0, "owner": "broker-1", "ledgers": [ledger]}]}


def struck(node: str, healed: int | None = None, kind: str = "kill") -> dict[str, Any]:
    """A fault that took effect at 10."""
    return {"kind": kind, "nodes": [node], "proven": True, "effect_ns": 10, "healed_ns": healed}


NOBODY: dict[str, Any] = {"at_ns": 15, "partitions": [{"partition": 0, "leader": None, "in_sync": []}]}
WHOLE = isr(0, "b1", "b2", "b3")


@pytest.mark.parametrize(
    ("history", "back"),
    [
        ([WHOLE, isr(15, "b2", "b3"), isr(40, "b2", "b3", "b1")], 30),
        ([WHOLE, isr(15, "b2", "b3"), isr(20, "b2"), isr(40, "b2", "b3")], None),  # one still missing
        ([WHOLE, isr(15, "b2", "b3", "b1")], 0),  # another leader, every copy
        ([WHOLE], 0),
        ([WHOLE, NOBODY], None),  # nobody leads it any more
        ([WHOLE, NOBODY, isr(40, "b1", "b2", "b3")], 30),
        ([], None),  # nobody told
    ],
)
def test_kafkas_copies_are_back_when_as_many_are_in_sync_as_before(
    history: list[dict[str, Any]], back: int | None
) -> None:
    assert back_ns(history, struck("b1")) == back


@pytest.mark.parametrize(
    ("history", "healed", "back"),
    [
        # The segment from 0 is copied to k3 at 40, so that none lies on k1 any more.
        ([kept(0, ("k1", "k2")), kept(15, ("k1", "k2"), ("k3", "k2")), kept(40, ("k3", "k2"), ("k3", "k2"))], None, 30),
        ([kept(0, ("k1", "k2")), kept(40, ("k3", "k2"))], 30, 20),  # the struck one came back before
        ([kept(0, ("k1", "k2"))], 30, 20),
        ([kept(0, ("k1", "k2"))], None, None),
        ([kept(0, ("k2", "k3"))], None, 0),  # it kept nothing
    ],
)  # fmt: skip
def test_pulsars_copies_are_back_when_none_lies_on_a_struck_node(
    history: list[dict[str, Any]], healed: int | None, back: int | None
) -> None:
    assert back_ns(history, struck("k1", healed)) == back


def test_where_no_bookie_is_away_nothing_can_be_said_of_pulsars_copies() -> None:
    assert back_ns([kept(0, ("k1", "k2"))], struck("k1", 30, kind="isolate")) is None


def test_a_replica_that_lags_is_missing_though_its_node_is_there() -> None:
    assert (
        back_ns([WHOLE, isr(15, "b2", "b3"), isr(40, "b2", "b3", "b1")], struck("b1", 20, kind="isolate"))
        == 30
    )


def test_copies_that_do_not_come_back_are_missing_until_the_last_that_was_seen() -> None:
    mark = {"kind": "mark", "asked_ns": 60}
    assert missing_ns([struck("k1"), mark], [kept(0, ("k1", "k2"))]) == 50


def test_copies_that_come_back_were_missing_until_then() -> None:
    mark = {"kind": "mark", "asked_ns": 60}
    assert missing_ns([struck("k1"), mark], [kept(0, ("k1", "k2")), kept(40, ("k3", "k2"))]) == 30


def test_without_a_look_nothing_can_be_said_of_copies() -> None:
    assert missing_ns([struck("k1")], []) is None
