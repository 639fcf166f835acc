"""Trials measured in slices, their results worked out by hand. One run holds them all, analysed once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse, export
from bench.analysis.folder import read_folder
from bench.analysis.trials import trial_setup
from bench.errors import EventLogError
from tests.eventlog import TrialLog, cut, in_slice, read_back, receive, seconds, send, write_run

Row = dict[str, Any]
Make = Callable[[], TrialLog]


def ok(sequence: int, sent_s: float, service_s: float, **others: object) -> Row:
    return send(sequence, seconds(sent_s), seconds(sent_s) + seconds(service_s), **others)


CLOSED: Row = {"producers": 1, "consumers": 1, "message_bytes": 100, "pacing": "closed", "window": 1}
TIMES: Row = {"warm_up_s": 0.1, "duration_s": 0.5, "messages": None}


def closed_loop() -> TrialLog:
    """Two slices, counted from 10.1 s to 10.6 s and from 12.1 s to 12.6 s; a neighbour's slice is between them."""
    first = [
        ok(0, 10.05, 0.10, bytes=100),  # sent in the lead-in, done inside: throughput only
        ok(1, 10.20, 0.10, bytes=200),  # inside: both
        ok(2, 10.55, 0.10, bytes=400),  # done after the slice: latency only
        ok(3, 10.58, 1.62, bytes=800),  # done at 12.2 s, in the next slice, not its own: latency only
        ok(4, 10.61, 0.02, bytes=1600),  # sent after the slice: neither
    ]
    second = [
        ok(5, 12.00, 0.05, bytes=3200),  # all in the lead-in: neither
        ok(6, 12.20, 0.30, bytes=6400),  # both
        ok(7, 12.30, 0.01, outcome="fail", error="REFUSED"),
        ok(8, 12.40, 0.15, bytes=12800),  # both
    ]
    sends = [*in_slice(0, first), *in_slice(1, second)]
    live = [
        receive("live", sends[1], seconds(11.0)),
        receive("live", sends[1], seconds(12.15), consumer=1),
        receive("live", sends[5], seconds(12.06)),
    ]
    return TrialLog(
        sends,
        [*live, *read_back([row for row in sends if row["outcome"] == "ok"])],
        slices=[cut(0, 0, 10.0, 10.1, 10.6), cut(1, 3, 12.0, 12.1, 12.6)],
        others={"logs": "01-memory", "load": CLOSED | TIMES},
    )


def neighbour() -> TrialLog:
    """On the same cluster start, before and between the slices of `closed_loop`."""
    sends = [*in_slice(0, [ok(0, 9.3, 0.1)]), *in_slice(1, [ok(1, 11.5, 0.1), ok(2, 11.6, 0.1)])]
    return TrialLog(
        sends,
        read_back(sends),
        settings={"acks": 1},
        slices=[cut(0, 0, 9.0, 9.1, 9.6), cut(1, 3, 11.25, 11.35, 11.85)],
        others={"logs": "01-memory", "load": CLOSED | TIMES},
    )


def open_loop() -> TrialLog:
    """Ten sends a second, due anew from each slice's begin: six in each of three slices, five of them counted.

    In the first slice two are never made, in the second one. Each that is made is done 10 ms times its place later.
    """
    sends: list[Row] = []
    for number, (begun_s, made) in enumerate(((20.0, 4), (22.0, 5), (24.0, 6))):
        sends += in_slice(
            number,
            [ok(len(sends) + place, begun_s + place / 10, 0.01 * (place + 1)) for place in range(made)],
        )
    return TrialLog(
        sends,
        read_back(sends),
        slices=[cut(number, number, at, at + 0.1, at + 0.6) for number, at in enumerate((20.0, 22.0, 24.0))],
        others={"load": CLOSED | TIMES | {"pacing": [[0.5, 10.0]], "window": 1, "consumers": 0}},
    )


def slower_and_slower() -> TrialLog:
    """40 slices of one send each: of 100 ns in the first two, one more in the next two, and so on."""
    sends = [
        row
        for number in range(40)
        for row in in_slice(number, [send(number, seconds(number), seconds(number) + 100 + number // 2)])
    ]
    slices = [cut(number, number, number, number, number + 0.5) for number in range(40)]
    return TrialLog(sends, read_back(sends), slices=slices)


def unknown_slice() -> TrialLog:
    """A send of a slice that trial.json does not have."""
    sends = in_slice(1, [ok(0, 0.1, 0.1)])
    return TrialLog(sends, read_back(sends), slices=[cut(0, 0, 0.0, 0.0, 0.5)])


def contiguous() -> TrialLog:
    """The window is [1 s, 2 s); one send before it is done inside."""
    sends = [ok(0, 0.9, 0.2), ok(1, 1.1, 0.3), ok(2, 1.9, 0.3)]
    return TrialLog(sends, read_back(sends), window=(seconds(1), seconds(2)), settings={"acks": "all"})


def contiguous_2() -> TrialLog:
    return replace(contiguous(), log_format=2)


TRIALS: list[Make] = [
    closed_loop,
    neighbour,
    open_loop,
    slower_and_slower,
    unknown_slice,
    contiguous,
    contiguous_2,
]


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_run(tmp_path_factory.mktemp("slices"), [make() for make in TRIALS])
    analyse(folder)
    return folder


def rows(run: Path, table: str, make: Make) -> list[Row]:
    number = TRIALS.index(make)
    every = pq.read_table(run / "results" / f"{table}.parquet").to_pylist()
    return [row for row in every if row["trial"] == number]


def trial(run: Path, make: Make) -> Row:
    (row,) = rows(run, "trials", make)
    return row


def test_throughput_is_of_sends_done_inside_their_own_slice_over_the_slices_length(run: Path) -> None:
    row = trial(run, closed_loop)  # 0 and 1; 6 and 8
    assert (row["window_s"], row["slices"]) == (1.0, 2)
    assert row["throughput_msgs_per_s"] == 4.0
    assert row["throughput_bytes_per_s"] == 100 + 200 + 6400 + 12800


def test_latency_is_of_sends_sent_inside_their_own_slice(run: Path) -> None:
    row = trial(run, closed_loop)  # 1, 2, 3, 6 and 8: 0.1, 0.1, 0.15, 0.3 and 1.62 s
    assert [row[f"service_{point}_ns"] for point in ("min", "p50", "p90", "p99", "max")] == [
        seconds(0.1),
        seconds(0.15),  # rank ceil(0.5 * 5) = 3
        seconds(1.62),
        seconds(1.62),
        seconds(1.62),
    ]
    assert row["service_mean_ns"] == seconds(0.454)


def test_all_messages_are_in_the_account(run: Path) -> None:
    row = trial(run, closed_loop)
    assert [row[name] for name in ("sent", "acked", "failed", "received", "lost")] == [9, 8, 1, 8, 0]
    assert row["verdict"] == "valid"


def test_end_to_end_time_is_of_messages_sent_inside_their_own_slice(run: Path) -> None:
    row = trial(run, closed_loop)  # of 1, 2, 3, 6 and 8 only 1 was seen; 5 is of the lead-in
    assert (row["e2e_messages"], row["e2e_min_ns"], row["e2e_p50_ns"]) == (1, seconds(0.8), None)


def test_every_slice_has_a_row_with_its_own_figures(run: Path) -> None:
    first, second = rows(run, "slices", closed_loop)
    assert first == {
        "trial": 0,
        "slice": 0,
        "cycle": 0,
        "start_ns": seconds(1.1),  # the neighbour began at 9 s
        "length_ns": seconds(0.5),
        "acked": 2,
        "throughput_msgs_per_s": 4.0,
        "service_p50_ns": seconds(0.1),  # 0.1, 0.1, 1.62 s
        "service_p99_ns": seconds(1.62),
        "response_p99_ns": None,
    }
    assert [second[name] for name in ("slice", "cycle", "start_ns", "acked", "service_p50_ns")] == [
        1,
        3,
        seconds(3.1),
        2,
        seconds(0.15),
    ]
    assert [row["start_ns"] for row in rows(run, "slices", neighbour)] == [seconds(0.1), seconds(2.35)]
    assert rows(run, "slices", open_loop)[0]["start_ns"] == seconds(0.1)  # another cluster start


def test_a_schedule_begins_anew_in_each_slice(run: Path) -> None:
    row = trial(run, open_loop)
    assert (row["due_unsent"], row["sent"]) == (3, 15)
    # Three, four and five sends count: 20, 30, 40; 20 … 50; 20 … 60 ms; and three that were never made.
    assert [row[f"response_{point}_ns"] for point in ("min", "p50", "p90")] == [
        seconds(0.02),
        seconds(0.04),  # rank ceil(0.5 * 15) = 8 of 20, 20, 20, 30, 30, 30, 40, 40, 40, 50, 50, 60
        None,
    ]
    assert row["service_max_ns"] == seconds(0.06)


def test_a_slices_response_time_counts_what_it_never_sent(run: Path) -> None:
    assert [row["response_p99_ns"] for row in rows(run, "slices", open_loop)] == [None, None, seconds(0.06)]
    assert [row["service_p99_ns"] for row in rows(run, "slices", open_loop)] == [
        seconds(0.04),
        seconds(0.05),
        seconds(0.06),
    ]


def test_the_rate_asked_for_is_that_of_all_slices(run: Path) -> None:
    assert trial_setup(read_folder(run).trials[TRIALS.index(open_loop)]).rate == pytest.approx(10.0)


def test_drift_is_over_the_slices_in_their_order(run: Path) -> None:
    row = trial(run, slower_and_slower)  # 20 parts of two slices: 100, 101 … 119 ns
    assert row["drift"] == pytest.approx(20 / 109.5)
    assert row["flags"] == "trend"


def test_a_send_of_no_slice_makes_the_trial_invalid(run: Path) -> None:
    row = trial(run, unknown_slice)
    assert (row["verdict"], row["sent"], row["acked"]) == ("invalid", 1, 1)
    assert row["reason"] == (
        "The sends of producer 0 belong to slices 1 to 1, but trial.json has slices 0 to 0."
    )


def test_a_contiguous_trial_reads_alike_in_both_formats(run: Path) -> None:
    first, second = trial(run, contiguous), trial(run, contiguous_2)
    assert first | {"trial": None} == second | {"trial": None}
    assert (first["slices"], first["window_s"], first["throughput_msgs_per_s"]) == (None, 1.0, 2.0)
    assert rows(run, "slices", contiguous) == []


def test_only_contiguous_trials_have_a_timeline(run: Path) -> None:
    table = pq.read_table(run / "results" / "timeline.parquet").to_pylist()
    assert {row["trial"] for row in table} == {TRIALS.index(contiguous), TRIALS.index(contiguous_2)}


def test_each_slice_is_a_period_for_other_tools(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path)
    found = json.loads((tmp_path / "omb" / "0000-memory.json").read_text())
    assert (found["publishRate"], found["publishErrorRate"]) == ([4.0, 4.0], [0.0, 2.0])
    assert found["consumeRate"] == [0.0, 2.0]  # what came between the slices, or in the lead-in, is in none
    assert found["publishLatencyMax"] == [1620.0, 300.0]
    assert (found["aggregatedPublishLatency50pct"], found["aggregatedPublishLatencyMax"]) == (150.0, 1620.0)
    assert "0000-memory.json,0.5" in (tmp_path / "omb" / "periods.csv").read_text().splitlines()


@pytest.mark.parametrize(
    ("slices", "said"),
    [
        ([cut(1, 0, 0.0, 0.1, 0.6)], r"slices: .*numbered 0, 1, 2"),
        ([cut(0, 0, 0.2, 0.1, 0.6)], r"slices\.0: .*begun_ns must not be after start_ns"),
        ([cut(0, 0, 0.0, 0.1, 0.1)], r"slices\.0: .*start_ns must be before end_ns"),
    ],
)
def test_slices_that_cannot_be_are_named(tmp_path: Path, slices: list[Row], said: str) -> None:
    folder = write_run(tmp_path, [TrialLog(slices=[cut(0, 0, 0.0, 0.1, 0.6)])])
    path = folder / "trials" / "0000" / "trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"slices": slices}))
    with pytest.raises(EventLogError, match=said):
        read_folder(folder)
