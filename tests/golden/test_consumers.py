"""What live consumers saw, by hand: each anomaly, and beside it what looks like one and is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from bench.analysis.live_figures import figures
from bench.columns import CONSUMER_COUNTERS
from bench.model import NANOS
from tests.eventlog import TrialLog, receive, send, write_run

Row = dict[str, Any]
Counts = dict[tuple[int, int], dict[str, int | None]]
"""By consumer and partition what is not 0."""

MS = 1_000_000
UNREAD = {"verify": {"complete": False, "reason": "partition 0 had no leader"}}


def stored(*offsets: int, **others: object) -> list[Row]:
    """Acknowledged sends at these offsets."""
    return [send(i, i * MS, i * MS + 1, entry=offset, **others) for i, offset in enumerate(offsets)]


def live(rows: Sequence[Row], consumer: int = 0, step_ns: int = MS) -> list[Row]:
    """What a consumer had, in this order."""
    return [receive("live", row, NANOS + i * step_ns, consumer=consumer) for i, row in enumerate(rows)]


def verify(rows: Sequence[Row]) -> list[Row]:
    return [receive("verify", row, 9 * NANOS) for row in rows]


def picked(rows: Sequence[Row], *places: int) -> list[Row]:
    return [rows[place] for place in places]


def straight() -> tuple[TrialLog, Counts]:
    sent = stored(0, 1, 2, 3)
    return TrialLog(sent, [*live(sent), *verify(sent)]), {}


def reconnected() -> tuple[TrialLog, Counts]:
    """Back at the committed offset 1: one step back, whatever it reads again."""
    sent = stored(0, 1, 2, 3)
    return TrialLog(sent, [*live(picked(sent, 0, 1, 2, 1, 2, 3)), *verify(sent)]), {(0, 0): {"polls_back": 1}}


def had_again_at_once() -> tuple[TrialLog, Counts]:
    sent = stored(0, 1)
    return TrialLog(sent, [*live(picked(sent, 0, 0, 1)), *verify(sent)]), {(0, 0): {"polls_back": 1}}


def skipped() -> tuple[TrialLog, Counts]:
    """From 1 to 4, over two messages: one poll."""
    sent = stored(0, 1, 2, 3, 4)
    return TrialLog(sent, [*live(picked(sent, 0, 1, 4)), *verify(sent)]), {(0, 0): {"polls_skipped": 1}}


def transaction_markers() -> tuple[TrialLog, Counts]:
    """Offsets 2 and 3 hold no message."""
    sent = stored(0, 1, 4)
    return TrialLog(sent, [*live(sent), *verify(sent)]), {}


def lost_between() -> tuple[TrialLog, Counts]:
    """Offset 2 was acknowledged, and no reader had it: it is lost, the consumer skipped nothing that was there."""
    sent = stored(0, 1, 2, 3)
    there = picked(sent, 0, 1, 3)
    return TrialLog(sent, [*live(there), *verify(there)]), {}


def another_consumer_had_it() -> tuple[TrialLog, Counts]:
    """Offset 1 was there once: consumer 1 had it."""
    sent = stored(0, 1, 2)
    there = picked(sent, 0, 2)
    rows = [*live(there), *live(sent, consumer=1), *verify(there)]
    return TrialLog(sent, rows), {(0, 0): {"polls_skipped": 1}, (1, 0): {"read_then_gone": 1}}


def skipped_and_returned() -> tuple[TrialLog, Counts]:
    """From 0 to 2, back to 1, and on to 3 over 2, which it had had."""
    sent = stored(0, 1, 2, 3)
    rows = [*live(picked(sent, 0, 2, 1, 3)), *verify(sent)]
    return TrialLog(sent, rows), {(0, 0): {"polls_back": 1, "polls_skipped": 1}}


def joined_late_and_left_early() -> tuple[TrialLog, Counts]:
    sent = stored(0, 1, 2, 3, 4)
    return TrialLog(sent, [*live(picked(sent, 2, 3)), *verify(sent)]), {}


def partitions_and_consumers() -> tuple[TrialLog, Counts]:
    """Consumer 0 has two partitions in turn; consumer 1 skips in partition 0 and goes back in partition 1."""
    one = stored(0, 1, 2)
    other = [send(3 + i, i * MS, i * MS + 1, entry=i, partition=1) for i in range(2)]
    rows = [
        *live([one[0], other[0], one[1], other[1], one[2]]),
        *live([one[0], other[0], one[2], other[1], other[0]], consumer=1),
        *verify([*one, *other]),
    ]
    return TrialLog([*one, *other], rows), {(1, 0): {"polls_skipped": 1}, (1, 1): {"polls_back": 1}}


def cut_back_and_written_anew() -> tuple[TrialLog, Counts]:
    """Offset 2 first held message 2, then 3. Consumer 0 had both, one after the other, consumer 1 the second."""
    sent = stored(0, 1, 2, 2)
    there = picked(sent, 0, 1, 3)
    return TrialLog(sent, [*live(sent), *live(there, consumer=1), *verify(there)]), {
        (0, 0): {"polls_back": 1, "positions_with_two_messages": 1, "read_then_gone": 1},
        (1, 0): {"positions_with_two_messages": 1},
    }


def a_message_at_two_positions() -> tuple[TrialLog, Counts]:
    """A duplicate of the log."""
    sent = stored(0, 1, 3)
    there = [*sent[:2], sent[1] | {"entry": 2}, sent[2]]
    return TrialLog(sent, [*live(there), *verify(there)]), {}


def not_acknowledged() -> tuple[TrialLog, Counts]:
    """A failed message and one of two unknown ones came to the consumer, each of them several times."""
    sent = stored(0, 1, 2, 3)
    sent[1] |= {"outcome": "fail"}
    sent[2] |= {"outcome": "unknown"}
    sent[3] |= {"outcome": "unknown"}
    rows = [*live(picked(sent, 0, 1, 2, 1, 2)), *verify(sent)]
    return TrialLog(sent, rows), {(0, 0): {"polls_back": 1, "read_unacknowledged": 2}}


def gone() -> tuple[TrialLog, Counts]:
    """The last two, one acknowledged and one unknown, are not in the full read; 9 came from nobody."""
    sent = stored(0, 1, 2, 3)
    sent[3] |= {"outcome": "unknown"}
    stranger = send(9, 0, 1, entry=4)
    rows = [*live([*sent, stranger]), *verify(sent[:2])]
    return TrialLog(sent, rows), {(0, 0): {"read_unacknowledged": 1, "read_then_gone": 2}}


def not_read_to_the_end() -> tuple[TrialLog, Counts]:
    """The same, in a full read that broke off."""
    trial, _ = gone()
    trial.others = UNREAD
    return trial, {(0, 0): {"read_unacknowledged": 1, "read_then_gone": None}}


def nothing_odd_and_not_read_to_the_end() -> tuple[TrialLog, Counts]:
    sent = stored(0, 1)
    return TrialLog(sent, [*live(sent), *verify(sent[:1])], others=UNREAD), {}


def ledgers() -> tuple[TrialLog, Counts]:
    """Pulsar's positions: consumer 0 goes on in order, 1 back within a batch, 2 over the second of a batch."""
    places = [(5, 9, None), (6, 0, 0), (6, 0, 1), (6, 1, None)]
    sent = [
        send(i, i * MS, i * MS + 1, ledger=ledger, entry=entry, batch_index=index)
        for i, (ledger, entry, index) in enumerate(places)
    ]
    rows = [
        *live(sent),
        *live(picked(sent, 0, 1, 2, 1, 2, 3), consumer=1),
        *live(picked(sent, 0, 1, 3), consumer=2),
        *verify(sent),
    ]
    return TrialLog(sent, rows), {(1, 0): {"polls_back": 1}, (2, 0): {"polls_skipped": 1}}


def one_batch() -> tuple[TrialLog, Counts]:
    """All rows of a batch have one time: their order in the log counts, over several files (see `run`)."""
    sent = stored(0, 1, 2, 3)
    rows = [
        *live(sent, step_ns=0),
        *live(picked(sent, 0, 2, 1, 3), consumer=1, step_ns=0),
        *verify(sent),
    ]
    return TrialLog(sent, rows), {(1, 0): {"polls_back": 1, "polls_skipped": 1}}


def later_row_first_in_the_file() -> tuple[TrialLog, Counts]:
    """Times go before the order in the log."""
    sent = stored(0, 1, 2)
    return TrialLog(sent, [*reversed(live(sent)), *verify(sent)]), {}


def no_consumers() -> tuple[TrialLog, Counts]:
    sent = stored(0, 1)
    load = {"producers": 1, "consumers": 0, "message_bytes": 100, "pacing": "closed", "window": 1}
    return TrialLog(sent, verify(sent), others={"load": load}), {}


Make = Callable[[], tuple[TrialLog, Counts]]
TRIALS: list[Make] = [
    straight,
    reconnected,
    had_again_at_once,
    skipped,
    transaction_markers,
    lost_between,
    another_consumer_had_it,
    skipped_and_returned,
    joined_late_and_left_early,
    partitions_and_consumers,
    cut_back_and_written_anew,
    a_message_at_two_positions,
    not_acknowledged,
    gone,
    not_read_to_the_end,
    nothing_odd_and_not_read_to_the_end,
    ledgers,
    one_batch,
    later_row_first_in_the_file,
    no_consumers,
]
EXPECTATION = {
    "id": "no-skips",
    "claim": "No consumer skips a message",
    "system": "memory",
    "metric": "polls_skipped",
    "at_most": 0,
}


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_run(
        tmp_path_factory.mktemp("consumers"), [make()[0] for make in TRIALS], expectations=[EXPECTATION]
    )
    whole = folder / "trials" / f"{TRIALS.index(one_batch):04d}" / "receives" / "0.parquet"
    rows = pq.read_table(whole)
    whole.unlink()
    for first in reversed(range(0, len(rows), 3)):
        pq.write_table(rows.slice(first, 3), whole.with_name(f"live-0-{first:04d}.parquet"))
    analyse(folder)
    return folder


def read(run: Path, table: str, make: Make) -> list[Row]:
    rows = pq.read_table(run / "results" / f"{table}.parquet").to_pylist()
    return [row for row in rows if row["trial"] == TRIALS.index(make)]


@pytest.mark.parametrize("make", TRIALS)
def test_each_consumer_has_what_was_planted_and_nothing_else(run: Path, make: Make) -> None:
    found = {
        (row["consumer"], row["partition"]): {name: row[name] for name in CONSUMER_COUNTERS}
        for row in read(run, "consumers", make)
    }
    expected = {
        lane: {name: counts.get(name, 0) for name in CONSUMER_COUNTERS} for lane, counts in make()[1].items()
    }
    assert found == expected


@pytest.mark.parametrize("make", [make for make in TRIALS if make is not no_consumers])
def test_a_trial_has_the_sums_of_its_consumers(run: Path, make: Make) -> None:
    (row,) = read(run, "trials", make)
    planted = make()[1].values()
    sums: dict[str, int | None] = {
        name: sum(counts.get(name) or 0 for counts in planted) for name in CONSUMER_COUNTERS
    }
    if not row["account_complete"]:
        sums["read_then_gone"] = None
    assert {name: row[name] for name in CONSUMER_COUNTERS} == sums


def test_without_consumers_nothing_can_be_said(run: Path) -> None:
    (row,) = read(run, "trials", no_consumers)
    assert {row[name] for name in CONSUMER_COUNTERS} == {None}


@pytest.mark.parametrize("make", TRIALS)
def test_a_run_that_goes_on_counts_the_same(run: Path, make: Make) -> None:
    (row,) = read(run, "trials", make)
    counted = figures(run / "trials" / f"{TRIALS.index(make):04d}").row
    assert {name: counted[name] for name in CONSUMER_COUNTERS} == {
        name: row[name] for name in CONSUMER_COUNTERS
    }


def test_an_expectation_may_speak_of_them(run: Path) -> None:
    (judged,) = json.loads((run / "results" / "expectations.json").read_text())
    assert judged["verdict"] == "did not hold"
