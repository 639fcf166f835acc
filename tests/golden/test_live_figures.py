"""What a run decides by while it goes on is what the analysis finds afterwards, to the digit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from bench.analysis.live_figures import figures
from bench.analysis.tables import fields
from bench.columns import CAPACITY, CONSUMED, COUNTERS, RATES, TIMES
from bench.errors import EventLogError
from tests.eventlog import TrialLog, cut, receive, send, write_run

Row = dict[str, Any]

COMPUTED = (
    *("trial", "round", "system", "case", "state", "verdict", "reason", "acks", "window_s", "slices"),
    *(*RATES, *TIMES, *COUNTERS, "e2e_messages", "due_unsent", "account_complete"),
    *("cpu_share", "loop_lag_max_ns", "recorder_backlog_max", "fsync_ns"),
)
MS = 1_000_000


def drawn(seed: int) -> TrialLog:
    """A log of some hundred sends: every kind of trial, and everything that can happen to a message."""
    draw = random.Random(seed)
    sliced, open_loop, sound = seed % 2 == 0, seed % 4 >= 2, seed % 3 > 0
    slices = [
        cut(number, number // 2, begun_s, begun_s + 0.1, begun_s + 0.6)
        for number in range(draw.randint(1, 6))
        for begun_s in [10.0 + 1.5 * number + 0.7 * draw.random()]
    ]
    begins = [one["begun_ns"] for one in slices] if sliced else [10_000 * MS]
    sends = _sends(draw, begins, length_ns=600 * MS if sliced else 2_000 * MS, sound=sound)
    load = {
        "producers": 3,
        "consumers": draw.randint(0, 2),
        "message_bytes": 100,
        "pacing": [[0.5 if sliced else 1.9, draw.choice([100.0, 170.0])]] if open_loop else "closed",
        "window": 4,
        "warm_up_s": 0.1,
        "duration_s": 0.5 if sliced else 1.9,
        "messages": None,
    }
    return TrialLog(
        sends,
        _receives(draw, sends, sound=sound),
        system="memory",
        settings={"acks": draw.choice(["1", "all"])},
        round=seed,
        window=(10_100 * MS, 12_000 * MS),
        slices=slices if sliced else None,
        others={"load": load, "verify": {"complete": draw.random() < 0.9, "reason": None}},
    )


def _sends(draw: random.Random, begins: list[int], *, length_ns: int, sound: bool) -> list[Row]:
    rows = []
    sequences = [0, 0, 0]
    for number, begun_ns in enumerate(begins):
        for sent_ns in sorted(
            begun_ns + draw.randrange(length_ns + 30 * MS) for _ in range(draw.randint(0, 90))
        ):
            producer = draw.randrange(3)
            outcome = draw.choices(["ok", "fail", "unknown"], [20, 1, 1])[0]
            service_ns = int(draw.lognormvariate(16, 1))
            done_ns = None if outcome == "unknown" and draw.random() < 0.5 else sent_ns + service_ns
            others = {
                "producer": producer,
                "partition": draw.randrange(2),
                "due_ns": sent_ns - draw.randrange(20 * MS),
                "outcome": outcome,
                "bytes": draw.randint(90, 110),
                "slice": number,
            }
            rows.append(send(sequences[producer], sent_ns, done_ns, **others))
            sequences[producer] += 1
    if not sound and rows:
        _spoil(draw, rows)
    return rows


def _spoil(draw: random.Random, rows: list[Row]) -> None:
    """Break a promise of the log: a message twice, a slice that is not there, or an acknowledgement without a time."""
    row = draw.choice(rows)
    kind = draw.randrange(4)
    if kind == 0:
        rows.append(dict(row))
    else:
        row |= ({"slice": 77}, {"outcome": "ok", "done_ns": None}, {"done_ns": row["sent_ns"] - 1})[kind - 1]


def _receives(draw: random.Random, sends: list[Row], *, sound: bool) -> list[Row]:
    live = [
        receive("live", row, row["sent_ns"] + draw.randrange(10) * 4 * MS, consumer=consumer, **_at(place))
        for place, row in enumerate(sends)
        for consumer in range(draw.choice([0, 1, 1, 1, 1, 2]))
    ]
    stored = [row for row in sends for _ in range(draw.choices([0, 1, 2], [1, 30, 1])[0])]
    for _ in range(draw.randint(0, 3) if len(stored) > 1 else 0):
        place = draw.randrange(len(stored) - 1)
        stored[place : place + 2] = reversed(stored[place : place + 2])
    verify = [receive("verify", row, 10**12, **_at(place)) for place, row in enumerate(stored)]
    if not sound and verify:
        verify.append(draw.choice(verify) | {"sequence": 10**6, "ledger": 10**6})
    rows = [*live, *verify]
    draw.shuffle(rows)
    return rows


def _at(place: int) -> Row:
    return {"ledger": place // 40, "entry": place // 4 % 10, "batch_index": place % 4}


def failed() -> TrialLog:
    others = {"state": "failed", "reason": "Broker 2 died.", "verdict": "invalid", "verify": None}
    return TrialLog(None, None, window=None, others=others | {"client": None}, settings={"acks": 1})


TRIALS = [*(drawn(seed) for seed in range(48)), failed(), TrialLog([], [], settings={"acks": 1})]


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_run(tmp_path_factory.mktemp("live"), TRIALS)
    analyse(folder)
    return folder


@pytest.fixture(scope="module")
def analysed(run: Path) -> list[Row]:
    return list(pq.read_table(run / "results" / "trials.parquet").to_pylist())


@pytest.mark.parametrize("number", range(len(TRIALS)))
def test_live_figures_are_those_of_the_analysis(run: Path, analysed: list[Row], number: int) -> None:
    row = figures(run / "trials" / f"{number:04d}").row

    assert {name: row.get(name) for name in COMPUTED} == {name: analysed[number][name] for name in COMPUTED}
    assert set(row) <= set(fields("trials", ["acks"]))


def test_live_slices_are_those_of_the_analysis(run: Path) -> None:
    rows = pq.read_table(run / "results" / "slices.parquet").to_pylist()
    live = [row for number in range(len(TRIALS)) for row in figures(run / "trials" / f"{number:04d}").slices]

    assert {row["trial"] for row in live}
    assert live == [{name: row[name] for name in live[0]} for row in rows]


def test_the_logs_compared_have_of_everything(analysed: list[Row]) -> None:
    told_elsewhere = {CAPACITY, CONSUMED}  # test_holds.py, test_members.py
    for name in set(COMPUTED) - {"system", "state", "round", "fsync_ns", "cpu_share"} - told_elsewhere:
        assert len({row[name] for row in analysed}) > 1, name


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    trial = write_run(tmp_path, [TrialLog([send(0, 1, 2)], [])]) / "trials" / "0000"
    file = trial / "sends" / "0.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(EventLogError, match=r"reading .*0000/sends/0\.parquet"):
        figures(trial)
