import pytest

from bench.analysis.faults.copies import Absence, Restoration, back, longest_absence, moves, short_of
from bench.model import NEVER_NS
from bench.records.steps import StallRecord, StepRecord, StrikeRecord, UndoRecord
from bench.records.trial import HistoryRecord


def seen(at: int, *partitions: dict[str, object]) -> HistoryRecord:
    return HistoryRecord(at_ns=at, partitions=list(partitions))


def isr(at: int, *nodes: str) -> HistoryRecord:
    return seen(at, {"partition": 0, "leader": nodes[0], "in_sync": list(nodes)})


def kept(at: int, *segments: tuple[str, ...], owner: str | None = "broker-1") -> HistoryRecord:
    ledger = {"ledger": 1, "segments": [[number, list(bookies)] for number, bookies in enumerate(segments)]}
    return seen(at, {"partition": 0, "owner": owner, "ledgers": [ledger]})


def struck(*nodes: str, healed: int | None = None, away: bool = True, asked: int = 10) -> StrikeRecord:
    """A fault that took effect 1 after it was asked for."""
    return StrikeRecord(
        name="gone",
        kind="kill",
        nodes=list(nodes),
        away=away,
        asked_ns=asked,
        effect_ns=asked + 1,
        healed_ns=healed,
        proven=True,
    )


def undo(at: int, *nodes: str) -> UndoRecord:
    return UndoRecord(name="back", nodes=list(nodes), asked_ns=at - 1, effect_ns=at)


def of(
    history: list[HistoryRecord], fault: StrikeRecord, *others: StepRecord, until: int = NEVER_NS
) -> Restoration | None:
    return back(history, [fault, *others], fault, until)


NOBODY = seen(15, {"partition": 0, "leader": None, "in_sync": []})
WHOLE = isr(0, "b1", "b2", "b3")


@pytest.mark.parametrize(
    ("history", "healed", "expected"),
    [
        ([WHOLE, isr(15, "b2", "b3"), isr(40, "b2", "b3", "b1")], 30, Restoration(30, "node back")),
        ([WHOLE, isr(15, "b2", "b3"), isr(20, "b2"), isr(40, "b2", "b3")], 30, None),  # b1 is still missing
        (
            [WHOLE, isr(15, "b2", "b3", "b1")],
            12,
            Restoration(2, "node back"),
        ),  # back before anybody missed it
        ([WHOLE], None, None),  # it is dead, whatever the set of replicas in sync still says
        ([isr(0, "b2", "b3")], None, Restoration(0, "")),  # it kept nothing
        ([WHOLE, NOBODY], 12, None),  # nobody leads it any more
        ([WHOLE, NOBODY, isr(40, "b1", "b2", "b3")], 12, Restoration(30, "node back")),
        ([], 12, None),  # nobody told
        ([isr(20, "b1", "b2")], 12, None),  # nobody told before
    ],
)
def test_kafkas_copies_are_back_once_what_was_in_sync_is_so_again(
    history: list[HistoryRecord], healed: int | None, expected: Restoration | None
) -> None:
    assert of(history, struck("b1", healed=healed)) == expected


def test_a_node_that_is_back_while_another_is_still_away_does_not_end_it() -> None:
    """Seen: two of three brokers away, one after the other back; sizes alone would say that all is well at 30."""
    history = [WHOLE, isr(15, "b3"), isr(30, "b3", "b1"), isr(60, "b3", "b1", "b2")]

    assert of(history, struck("b1", "b2", healed=50), undo(28, "b1")) == Restoration(50, "node back")


def test_a_step_that_undoes_a_later_fault_of_the_same_node_is_not_this_ones() -> None:
    assert of([WHOLE], struck("b1", healed=20), undo(80, "b1"), until=30) == Restoration(10, "node back")


def test_of_copies_nobody_saw_before_a_fault_nobody_can_say_for_how_long_they_were_missing() -> None:
    gone = struck("b1", healed=None)

    assert longest_absence([WHOLE, isr(20, "b2", "b3")], [gone], [(gone, NEVER_NS)]) == Absence(10, cut=True)
    assert longest_absence([isr(20, "b2", "b3")], [gone], [(gone, NEVER_NS)]) is None


def test_who_falls_behind_after_the_next_fault_is_that_ones() -> None:
    history = [
        WHOLE,
        isr(15, "b2", "b3"),
        isr(30, "b1", "b2", "b3"),
        isr(45, "b1", "b3"),
        isr(60, "b1", "b2", "b3"),
    ]

    assert of(history, struck("b1", healed=20), until=40) == Restoration(20, "node back")
    assert of(history, struck("b2", healed=50, asked=40)) == Restoration(20, "node back")


def test_a_fault_that_takes_nothing_away_shows_in_the_replicas_in_sync() -> None:
    cut = struck("b1", healed=30, away=False)

    assert of([WHOLE, isr(25, "b1"), isr(40, "b1", "b2", "b3")], cut) == Restoration(30, "node back")
    assert of([WHOLE], cut) == Restoration(0, "")


@pytest.mark.parametrize(
    ("history", "healed", "expected"),
    [
        # The segment from 0 is copied to k3 at 40, so that none lies on k1 any more.
        (
            [
                kept(0, ("k1", "k2")),
                kept(15, ("k1", "k2"), ("k3", "k2")),
                kept(40, ("k3", "k2"), ("k3", "k2")),
            ],
            None,
            Restoration(30, "copied"),
        ),
        ([kept(0, ("k1", "k2")), kept(40, ("k3", "k2"))], 30, Restoration(20, "node back")),
        ([kept(0, ("k1", "k2"))], 30, Restoration(20, "node back")),
        ([kept(0, ("k1", "k2"))], None, None),
        ([kept(0, ("k2", "k3"))], None, Restoration(0, "")),  # it kept nothing
    ],
)
def test_pulsars_copies_are_back_once_none_lies_on_a_node_that_is_away(
    history: list[HistoryRecord], healed: int | None, expected: Restoration | None
) -> None:
    assert of(history, struck("k1", healed=healed)) == expected


def test_of_two_bookies_the_one_that_is_back_keeps_its_copies() -> None:
    """Seen: the first is back at 50, what lay on the second is copied by 80, the second comes at 120."""
    history = [
        kept(0, ("k1", "k2")),
        kept(15, ("k1", "k2"), ("k3", "k4")),
        kept(80, ("k1", "k3"), ("k3", "k4")),
    ]

    assert of(history, struck("k1", "k2", healed=120), undo(50, "k1"), undo(120, "k2")) == Restoration(
        70, "copied"
    )


def test_what_lay_on_a_bookie_that_was_cut_off_is_back_once_it_was_copied() -> None:
    """The fragment from 1 on is of the new ensemble, the one from 0 on is copied to k3 at 40."""
    cut = struck("k1", away=False, healed=30)
    changed = kept(20, ("k1", "k2"), ("k3", "k2"))

    assert of([kept(0, ("k1", "k2")), changed, kept(40, ("k3", "k2"), ("k3", "k2"))], cut) == Restoration(
        30, "copied"
    )
    assert of([kept(0, ("k1", "k2")), changed], cut) is None  # nobody copied it: perhaps nobody missed it
    assert longest_absence([kept(0, ("k1", "k2")), changed], [cut], [(cut, NEVER_NS)]) is None
    assert of([kept(0, ("k2", "k3"))], cut) is None
    assert of([], struck("k1")) is None


def test_the_longest_of_a_trial_counts_until_the_last_thing_seen_where_copies_did_not_come_back() -> None:
    back_soon, never = struck("k1", healed=30), struck("k2", asked=50)
    history = [kept(0, ("k1", "k2"))]
    steps = [back_soon, never, undo(90, "k9")]

    assert longest_absence(history, steps, [(back_soon, 50)]) == Absence(20, cut=False)
    assert longest_absence(history, steps, [(back_soon, 50), (never, NEVER_NS)]) == Absence(40, cut=True)
    assert longest_absence([], steps, [(back_soon, 50)]) is None


def test_moves_count_who_came_to_serve_after_somebody_else() -> None:
    nobody = kept(20, ("k1",), owner=None)

    assert moves([]) is None
    assert moves([kept(0, ("k1",)), nobody, kept(30, ("k1",))]) == 0
    assert moves([nobody, kept(30, ("k1",)), kept(40, ("k1",), owner="broker-2"), kept(50, ("k1",))]) == 2
    assert moves([WHOLE, NOBODY, isr(40, "b2", "b1")]) == 1


def test_a_look_that_found_nothing_new_tells_until_when_copies_were_missing() -> None:
    dead, nobody = struck("b1"), seen(90)

    assert longest_absence([WHOLE, isr(15, "b2", "b3"), nobody], [dead], [(dead, NEVER_NS)]) == Absence(
        80, cut=True
    )
    assert longest_absence([nobody], [dead], [(dead, NEVER_NS)]) is None
    assert moves([nobody]) is None


@pytest.mark.parametrize(
    ("at", "left"),
    [
        ([(0, 1, 815)], 38),  # 816 to 853
        ([(0, 1, 853)], 0),
        ([(0, 1, 854)], 10),
        ([(0, 1, 865)], None),  # in the last one
        ([(0, 2, 815)], None),  # another ledger
        ([(0, 1, 815), (1, 1, 7)], 38),  # nothing is known of that partition
        ([], None),  # nothing had come
    ],
)
def test_a_reader_stands_so_many_entries_before_the_next_fragment(
    at: list[tuple[int, int, int]], left: int | None
) -> None:
    ledger = {"ledger": 1, "segments": [[0, ["a", "b"]], [854, ["b", "c"]], [865, ["c", "d"]]]}
    history = [
        kept(0, ("a", "b")),
        seen(9, {"partition": 0, "owner": "x", "ledgers": [ledger]}),
    ]

    assert short_of(history, StallRecord(from_ns=1, to_ns=2, at=at)) == left


def test_what_is_left_in_the_fragments_of_several_partitions_adds_up() -> None:
    ledger = {"ledger": 1, "segments": [[0, ["a"]], [10, ["b"]]]}
    partitions: list[dict[str, object]] = [
        {"partition": number, "owner": "x", "ledgers": [ledger]} for number in (0, 1)
    ]
    stall = StallRecord(from_ns=1, to_ns=2, at=[(0, 1, 3), (1, 1, 8)])

    assert short_of([seen(0, *partitions)], stall) == 6 + 1


def test_of_kafkas_partitions_there_are_no_fragments() -> None:
    assert short_of([isr(0, "b1")], StallRecord(from_ns=1, to_ns=2, at=[(0, -1, 3)])) is None
