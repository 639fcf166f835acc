"""Whatever is injected into a clean log is found exactly, and nothing else is: many logs in one analysis."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from bench.analysis import analyse, job
from tests.eventlog import TrialLog, receive, send, write_run

Message = tuple[int, int]
"""Producer and sequence."""

KINDS = (
    "lost",
    "fail_present",
    "unknown_present",
    "unknown_absent",
    "duplicate",
    "out_of_order",
    "foreign",
)


@dataclass
class Injected:
    """A log, and what was done to it: for each kind, how many rows of which message."""

    trial: TrialLog
    offenders: dict[str, Counter[Message]]


@st.composite
def logs(draw: st.DrawFn) -> Injected:
    producers, partitions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    count = draw(st.integers(0, 12))
    batched = draw(st.booleans())
    sends: list[dict[str, Any]] = []
    lanes: list[list[dict[str, Any]]] = [[] for _ in range(partitions)]
    found: dict[str, Counter[Message]] = {kind: Counter() for kind in KINDS}
    for number in range(count * producers):
        producer, sequence = number % producers, number // producers
        outcome = draw(st.sampled_from(("ok", "ok", "ok", "ok", "fail", "unknown")))
        copies = draw(st.sampled_from((1, 1, 1, 1, 1, 0, 0, 2, 3)))
        partition = draw(st.integers(0, partitions - 1))
        row = send(
            sequence,
            1000 * number,
            1000 * number + 10,
            producer=producer,
            partition=partition,
            outcome=outcome,
        )
        sends.append(row)
        lanes[partition] += [row] * copies
        _expect(found, (producer, sequence), outcome, copies)
    for lane in lanes:
        _swap(draw, lane)
        _haunt(draw, lane, found)
        found["out_of_order"] += _behind(lane)
    receives = [row for index, lane in enumerate(lanes) for row in _places(index, lane, batched=batched)]
    return Injected(TrialLog(sends, draw(st.permutations(receives))), found)


def _expect(found: dict[str, Counter[Message]], message: Message, outcome: str, copies: int) -> None:
    """Note what this fate makes of a message."""
    name = {
        ("ok", False): "lost",
        ("fail", True): "fail_present",
        ("unknown", True): "unknown_present",
        ("unknown", False): "unknown_absent",
    }.get((outcome, copies > 0))
    if name:
        found[name][message] += 1
    if copies > 1:
        found["duplicate"][message] += copies - 1


def _swap(draw: st.DrawFn, lane: list[dict[str, Any]]) -> None:
    for _ in range(draw(st.integers(0, 2)) if len(lane) > 1 else 0):
        one, other = draw(st.integers(0, len(lane) - 1)), draw(st.integers(0, len(lane) - 1))
        lane[one], lane[other] = lane[other], lane[one]


def _haunt(draw: st.DrawFn, lane: list[dict[str, Any]], found: dict[str, Counter[Message]]) -> None:
    """Put in messages that nobody sent: an unknown sequence, or a known one with another time of sending."""
    for sequence in draw(st.lists(st.integers(0, 20), max_size=2)):
        ghost = send(sequence, -1, None)
        lane.insert(draw(st.integers(0, len(lane))), ghost)
        found["foreign"][0, sequence] += 1


def _behind(lane: list[dict[str, Any]]) -> Counter[Message]:
    """Find first occurrences after a larger sequence of their producer, by the definition."""
    seen: dict[int, list[int]] = {}
    behind: Counter[Message] = Counter()
    for row in lane:
        before = seen.setdefault(row["producer"], [])
        if row["sequence"] not in before and any(other > row["sequence"] for other in before):
            behind[row["producer"], row["sequence"]] += 1
        before.append(row["sequence"])
    return behind


def _places(partition: int, lane: list[dict[str, Any]], *, batched: bool) -> list[dict[str, Any]]:
    """Number the rows of a partition: by offset, or by ledger, entry and index in the batch."""
    rows = []
    for number, row in enumerate(lane):
        place: dict[str, int] = {"entry": number}
        if batched:
            place = {"ledger": number // 6, "entry": number // 2 % 3, "batch_index": number % 2}
        rows.append(receive("verify", row, 10**9, partition=partition, **place))
    return rows


@pytest.fixture(scope="module")
def injected() -> list[Injected]:
    """Many logs at once, since one analysis is dear and its trials do not touch each other."""
    found: list[Injected] = []

    @settings(max_examples=100, database=None, phases=[Phase.generate])
    @given(logs())
    def draw(log: Injected) -> None:
        found.append(log)

    draw()
    return found


@pytest.fixture(scope="module")
def run(spark: SparkSession, injected: list[Injected], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With rows spread over as many tasks as those of a large log."""
    folder = write_run(tmp_path_factory.mktemp("injected"), [log.trial for log in injected])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(job, "_MIN_ROWS_PER_TASK", 50)
        analyse(folder)
    return folder


def test_what_was_injected_is_listed_and_nothing_else(run: Path, injected: list[Injected]) -> None:
    found = [{kind: Counter[Message]() for kind in KINDS} for _ in injected]
    for row in pq.read_table(run / "results" / "messages.parquet").to_pylist():
        found[row["trial"]][row["kind"]][row["producer"], row["sequence"]] += 1
    for log, listed in zip(injected, found, strict=True):
        assert listed == log.offenders, log.trial


def test_every_row_read_back_is_accounted_for(run: Path) -> None:
    for row in pq.read_table(run / "results" / "trials.parquet").to_pylist():
        there = row["acked"] - row["lost"] + row["fail_present"] + row["unknown_present"]
        assert row["received"] == there + row["duplicates"] + row["foreign"]


def test_what_was_injected_is_counted_exactly(run: Path, injected: list[Injected]) -> None:
    rows = pq.read_table(run / "results" / "trials.parquet").to_pylist()
    columns = {kind: "duplicates" if kind == "duplicate" else kind for kind in KINDS}
    for log, row in zip(injected, rows, strict=True):
        expected = {kind: messages.total() for kind, messages in log.offenders.items()}
        assert {kind: row[column] for kind, column in columns.items()} == expected, log.trial
