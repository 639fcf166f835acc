"""Event logs of a few rows whose results were worked out by hand. One run holds them all, analysed once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.analysis import analyse
from bench.columns import CONSUMER_COUNTERS, COUNTERS, TABLES
from tests.eventlog import TrialLog, read_back, receive, seconds, send, write_run

Row = dict[str, Any]
Make = Callable[[], TrialLog]


def ok(sequence: int, sent_s: float, service_s: float, **others: object) -> Row:
    return send(sequence, seconds(sent_s), seconds(sent_s) + seconds(service_s), **others)


def edges() -> TrialLog:
    """The window is [10 s, 12 s)."""
    sends = [
        ok(0, 9.5, 0.4, bytes=100),  # done 9.9: before the window
        ok(1, 9.9, 0.1, bytes=200),  # done 10.0: inside; sent before it
        ok(2, 10.0, 0.5, bytes=300),  # sent and done inside
        ok(3, 11.9, 0.1, bytes=400),  # done 12.0: the end is outside; sent inside
        ok(4, 12.0, 0.1, bytes=500),  # sent at the end: outside
        ok(5, 11.0, 0.2, outcome="fail", error="REFUSED"),
        send(6, seconds(11.0), None, outcome="unknown", error="TIMED_OUT"),
    ]
    return TrialLog(sends, read_back([*sends[:5]]), window=(seconds(10), seconds(12)))


def ten() -> TrialLog:
    """Service times 100, 200 … 1000 ns in the window, written in no order, and one far longer outside."""
    times = [700, 100, 1000, 300, 900, 200, 800, 400, 600, 500]
    sends = [send(i, 10 + i, 10 + i + time) for i, time in enumerate(times)]
    sends.append(send(10, 5000, 905_000))
    return TrialLog(sends, [], window=(10, 5000))


def account() -> TrialLog:
    """Everything that can go wrong with a message, once each, in one partition."""
    sent: list[Row] = [ok(i, 0.1 * i, 0.01, entry=i) for i in range(10)]
    sent[5] |= {"outcome": "fail", "error": "REFUSED", "entry": None}
    sent[6] |= {"outcome": "fail", "error": "REFUSED", "entry": None}
    sent[7] |= {"outcome": "unknown", "error": "TIMED_OUT", "done_ns": None, "entry": None}
    sent[8] |= {"outcome": "unknown", "error": "TIMED_OUT", "entry": None}
    stranger = sent[9] | {"sequence": 999}
    # 1 is lost; 2 is there three times; 3 lies behind 4; 5 and 7 are there; 6 and 8 are not.
    lie = [sent[i] for i in (0, 2, 4, 3, 2, 5, 7, 9, 2)]
    return TrialLog(sent, list(reversed(read_back([*lie, stranger]))), window=(0, seconds(2)))


def positions() -> TrialLog:
    """Pulsar's places: the ledger before the entry before the index in the batch, none before the first."""
    places = [(5, 9, None), (6, 0, 0), (6, 0, 1), (6, 1, None), (6, 1, 0)]
    sent = [
        ok(i, 0.1 * i, 0.01, ledger=ledger, entry=entry, batch_index=index)
        for i, (ledger, entry, index) in enumerate(places)
    ]
    rows = [receive("verify", row, seconds(50 - i)) for i, row in enumerate(sent)]
    return TrialLog(sent, [rows[i] for i in (3, 0, 4, 2, 1)])


def lanes() -> TrialLog:
    """Order counts within a partition and a producer only, and a late copy is no message out of order."""
    sent = [
        ok(0, 0.0, 0.1, producer=0, partition=1),
        ok(1, 0.1, 0.1, producer=0, partition=0),
        ok(0, 0.2, 0.1, producer=1, partition=0),
        ok(1, 0.3, 0.1, producer=1, partition=0),
    ]
    placed = [
        (sent[1], 0),  # producer 0: 1 in partition 0 …
        (sent[3], 1),  # producer 1: 1 before …
        (sent[2], 2),  # … 0: out of order
        (sent[3], 3),  # a copy
        (sent[2], 4),  # a copy of the one out of order: a duplicate, no second one out of order
        (sent[0], 5),  # … and 0 in partition 1, at a larger offset: in order
    ]
    return TrialLog(sent, [receive("verify", row, seconds(50), entry=entry) for row, entry in placed])


def end_to_end() -> TrialLog:
    """Live consumers see messages twice, late, from a failed send, from nowhere; the first sight counts."""
    sent = [ok(0, 0.5, 0.1), *[ok(i, 1 + i, 0.1) for i in range(1, 5)]]
    sent[4] |= {"outcome": "fail"}
    seen = [
        receive("live", sent[0], seconds(9.0)),  # sent before the window
        receive("live", sent[1], seconds(2.5), consumer=1),  # after 0.5 s, then again
        receive("live", sent[1], seconds(2.3)),  # after 0.3 s: the first sight
        receive("live", sent[2], seconds(3.4)),  # after 0.4 s
        receive("live", sent[4], seconds(5.2)),  # after 0.2 s
        receive("live", sent[3] | {"sequence": 70}, seconds(4.1)),  # nobody sent it
        *[receive("verify", row, seconds(4.01), entry=i) for i, row in enumerate(sent)],
    ]
    return TrialLog(sent, seen, window=(seconds(1), seconds(10)))


def half_seen() -> TrialLog:
    """Of four messages live consumers had three when they were given up."""
    sent = [ok(i, 1 + i, 0.1) for i in range(4)]
    seen = [receive("live", row, row["sent_ns"] + seconds(0.2)) for row in sent[:3]]
    return TrialLog(sent, [*seen, *read_back(sent)], window=(seconds(1), seconds(10)))


def incomplete() -> TrialLog:
    """The full read broke off: nothing can be called lost."""
    sent = [ok(0, 0.0, 0.1), ok(1, 0.1, 0.1), ok(2, 0.2, 0.1, outcome="unknown")]
    others = {
        "verify": {"complete": False, "reason": "partition 0 had no leader"},
        "verdict": "unknown",
        "verdicts": [{"check": "verify", "verdict": "unknown", "reason": "The full read broke off."}],
    }
    return TrialLog(sent, read_back(sent[:1]), others=others)


def failed() -> TrialLog:
    others = {
        "state": "failed",
        "reason": "Broker 2 died.",
        "verdict": "invalid",
        "verdicts": [{"check": "state", "verdict": "invalid", "reason": "Broker 2 died."}],
        "client": None,
        "verify": None,
    }
    return TrialLog(None, None, window=None, others=others)


def silent() -> TrialLog:
    """Finished, yet nothing was sent or received."""
    return TrialLog([], [])


def fire_and_forget() -> TrialLog:
    """acks=0: the client is never told an offset; nobody read anything back."""
    return TrialLog([ok(i, 0.1 * i, 0.001) for i in range(3)], None)


def open_loop() -> TrialLog:
    """Due every 0.1 s; the second send comes 0.05 s late: its response time has those, its service time not."""
    sent = [
        ok(0, 0.0, 0.02),
        ok(1, 0.15, 0.02, due_ns=seconds(0.1)),
    ]
    load = {"producers": 1, "consumers": 0, "message_bytes": 100, "pacing": [[1.0, 10.0]], "window": 10}
    return TrialLog(sent, read_back(sent), others={"load": load})


def overloaded() -> TrialLog:
    """Due every 0.1 s, ten before the window and ten in it: five are acknowledged, one fails, four are never made.

    The last of those was due 0.1 s before the end, and may only have been late.
    """
    sent = [
        *[ok(i, i / 10, 0.01) for i in range(10)],
        *[ok(10 + i, 1 + i / 10, 0.02 * (i + 1)) for i in range(5)],
        ok(15, 1.5, 0.01, outcome="fail", error="REFUSED"),
    ]
    load = {"producers": 1, "message_bytes": 100, "pacing": [[1.0, 10.0]], "window": 1}
    times = {"warm_up_s": 1.0, "duration_s": 1.0, "messages": None}
    return TrialLog(
        sent, read_back(sent[:15]), window=(seconds(1), seconds(2)), others={"load": load | times}
    )


def spread_out() -> TrialLog:
    """Sends from 5.0 s on; nothing at all happens in the trial's second 1. The window is [5.5 s, 8.0 s)."""
    sent = [
        ok(0, 5.0, 0.2),
        ok(1, 5.5, 0.1),
        ok(2, 5.9, 1.3),  # sent in second 0, done in second 2
        ok(3, 7.0, 0.3),
        ok(4, 7.1, 0.1, outcome="fail", error="REFUSED"),
        send(5, seconds(7.2), None, outcome="unknown", error="TIMED_OUT"),
    ]
    seen = [receive("live", sent[0], seconds(5.3)), receive("live", sent[0], seconds(8.2))]
    return TrialLog(sent, [*seen, *read_back(sent[:4])], window=(seconds(5.5), seconds(8)))


def broken_sequence() -> TrialLog:
    """Sequence 1 is not in the sends: the log cannot be trusted."""
    sent = [ok(0, 0.0, 0.1), ok(2, 0.2, 0.1)]
    return TrialLog(sent, read_back(sent))


def repeated() -> TrialLog:
    """Sequence 0 is there twice and 1 is not: neither their number nor the first and the last of them tells."""
    sent = [ok(0, 0.0, 0.1), ok(0, 0.1, 0.1), ok(2, 0.2, 0.1)]
    return TrialLog(sent, read_back(sent))


def endless() -> TrialLog:
    """An acknowledgement without its time; that a send of unknown outcome has none is as it should be."""
    sent = [ok(0, 0.0, 0.1), send(1, seconds(0.1), None), send(2, seconds(0.2), None, outcome="unknown")]
    return TrialLog(sent, read_back(sent[:2]))


def backward() -> TrialLog:
    """A send was acknowledged before it was made; another took no time at all, which may be."""
    sent = [ok(0, 0.1, -0.05, producer=3), ok(1, 0.2, 0.0, producer=3)]
    return TrialLog(sent, read_back(sent))


TRIALS = [
    edges,
    ten,
    account,
    positions,
    lanes,
    end_to_end,
    half_seen,
    incomplete,
    failed,
    silent,
    fire_and_forget,
    open_loop,
    overloaded,
    spread_out,
    broken_sequence,
    repeated,
    endless,
    backward,
]


@pytest.fixture(scope="module")
def results(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = write_run(tmp_path_factory.mktemp("golden"), [make() for make in TRIALS])
    analyse(run)
    return run / "results"


def rows(results: Path, table: str, make: Make) -> list[Row]:
    number = TRIALS.index(make)
    return [row for row in pq.read_table(results / f"{table}.parquet").to_pylist() if row["trial"] == number]


def trial(results: Path, make: Make) -> Row:
    (row,) = rows(results, "trials", make)
    return row


def messages(results: Path, make: Make, kind: str) -> list[tuple[int | None, ...]]:
    return [
        (row["sequence"], row["partition"], row["entry"], row["previous_sequence"], row["previous_entry"])
        for row in rows(results, "messages", make)
        if row["kind"] == kind
    ]


def test_throughput_counts_what_is_done_from_the_windows_start_up_to_its_end(results: Path) -> None:
    row = trial(results, edges)
    assert row["window_s"] == 2.0
    assert row["throughput_msgs_per_s"] == 1.0  # sequences 1 and 2 over 2 s
    assert row["throughput_bytes_per_s"] == 250.0  # 200 + 300 bytes over 2 s


def test_service_time_is_of_acknowledged_sends_sent_inside_the_window(results: Path) -> None:
    row = trial(results, edges)  # sequences 2 and 3: 0.5 s and 0.1 s
    assert row["service_min_ns"] == seconds(0.1)
    assert row["service_p50_ns"] == seconds(0.1)  # rank ceil(0.5 * 2) = 1
    assert row["service_p90_ns"] == seconds(0.5)  # rank ceil(0.9 * 2) = 2
    assert row["service_mean_ns"] == seconds(0.3)
    assert row["service_max_ns"] == seconds(0.5)


def test_all_sends_are_counted_warm_up_included(results: Path) -> None:
    row = trial(results, edges)
    assert [row[name] for name in ("sent", "acked", "failed", "unknown")] == [7, 5, 1, 1]


def test_percentiles_are_nearest_rank(results: Path) -> None:
    row = trial(results, ten)  # 100, 200 … 1000: rank r has 100 r
    points = ("min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max", "mean")
    expected = [100, 500, 900, 1000, 1000, 1000, 1000, 1000, 550]
    assert [row[f"service_{point}_ns"] for point in points] == expected


def test_a_curve_stops_where_the_sample_is_too_small(results: Path) -> None:
    curve = {row["quantile"]: row["value_ns"] for row in rows(results, "percentiles", ten)}
    # Ten values tell 0.1 to 0.9 from the extremes: rank ceil(10 q).
    assert min(set(curve) - {0.0}) == 0.1
    assert max(set(curve) - {1.0}) == 0.9
    assert [curve[q] for q in (0.0, 0.1, 0.11, 0.2, 0.55, 0.9, 1.0)] == [100, 100, 200, 200, 600, 900, 1000]


def test_the_account_finds_every_fate(results: Path) -> None:
    row = trial(results, account)
    assert {name: row[name] for name in COUNTERS} == {
        "sent": 10,
        "acked": 6,  # 0, 1, 2, 3, 4, 9
        "failed": 2,
        "unknown": 2,
        "received": 10,
        "lost": 1,
        "unread": 0,
        "fail_present": 1,
        "unknown_present": 1,
        "unknown_absent": 1,
        "duplicates": 2,
        "out_of_order": 1,
        "foreign": 1,
        **dict.fromkeys(CONSUMER_COUNTERS, 0),  # consumers had nothing
    }
    assert row["account_complete"] is True


def test_a_row_that_no_send_explains_makes_a_trial_invalid(results: Path) -> None:
    row = trial(results, account)
    assert row["verdict"] == "invalid"
    assert row["reason"] == "1 rows of the full read are explained by no send."


@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        ("lost", [(1, 0, 1, None, None)]),  # the place is the one the producer was told
        ("duplicate", [(2, 0, 4, 3, 3), (2, 0, 8, 9, 7)]),  # after 3, and after 9
        ("out_of_order", [(3, 0, 3, 4, 2)]),
        ("fail_present", [(5, 0, 5, None, None)]),
        ("unknown_present", [(7, 0, 6, None, None)]),
        ("unknown_absent", [(8, 0, None, None, None)]),
        ("foreign", [(999, 0, 9, None, None)]),
    ],
)
def test_offenders_are_listed_with_their_place(results: Path, kind: str, listed: list[Any]) -> None:
    assert messages(results, account, kind) == listed


def test_an_offender_carries_the_clients_error(results: Path) -> None:
    errors = {row["kind"]: row["error"] for row in rows(results, "messages", account)}
    assert errors["fail_present"] == "REFUSED"
    assert errors["unknown_absent"] == "TIMED_OUT"
    assert errors["lost"] is None


def test_errors_are_counted_by_outcome_and_name(results: Path) -> None:
    """One of each was refused, or not answered, and is there."""
    names = ("outcome", "error", "count", "present")
    counts = [tuple(row[name] for name in names) for row in rows(results, "errors", account)]
    assert counts == [("fail", "REFUSED", 2, 1), ("unknown", "TIMED_OUT", 2, 1)]


def test_places_compare_by_ledger_entry_and_index_in_the_batch(results: Path) -> None:
    row = trial(results, positions)
    assert (row["lost"], row["duplicates"], row["out_of_order"]) == (0, 0, 0)


def test_order_counts_within_one_partition_and_producer(results: Path) -> None:
    row = trial(results, lanes)
    assert (row["duplicates"], row["out_of_order"]) == (2, 1)
    assert messages(results, lanes, "out_of_order") == [(0, 0, 2, 1, 1)]  # behind 1, which lies at 1


def test_a_copy_is_listed_with_what_lies_before_it_and_with_the_first(results: Path) -> None:
    assert messages(results, lanes, "duplicate") == [(0, 0, 4, 1, 3), (1, 0, 3, 0, 2)]
    copies = [row for row in rows(results, "messages", lanes) if row["kind"] == "duplicate"]
    assert [(row["first_partition"], row["first_entry"]) for row in copies] == [(0, 2), (0, 1)]


def test_end_to_end_time_is_that_of_the_first_sight(results: Path) -> None:
    row = trial(results, end_to_end)  # 0.2, 0.3 and 0.4 s, and one that nobody had
    assert row["e2e_messages"] == 3
    assert [row[f"e2e_{point}_ns"] for point in ("min", "p50", "p90", "max", "mean")] == [
        seconds(0.2),
        seconds(0.3),  # rank ceil(0.5 * 4) = 2
        None,  # rank ceil(0.9 * 4) = 4
        None,
        None,
    ]


def test_end_to_end_time_is_told_as_far_as_consumers_had_the_messages(results: Path) -> None:
    row = trial(results, half_seen)
    assert (row["e2e_messages"], row["e2e_p50_ns"], row["e2e_p95_ns"]) == (3, seconds(0.2), None)
    curve = [one["quantile"] for one in rows(results, "percentiles", half_seen) if one["measure"] == "e2e"]
    assert max(curve) == 0.75


def test_nothing_is_lost_where_the_full_read_broke_off(results: Path) -> None:
    row = trial(results, incomplete)
    assert row["account_complete"] is False
    assert (row["lost"], row["unknown_absent"], row["received"]) == (None, None, 1)
    assert row["unread"] == 1  # 0 and 1 were acknowledged, 0 was read
    assert rows(results, "messages", incomplete) == []
    assert (row["verdict"], row["reason"]) == ("unknown", "The full read broke off.")


def test_a_failed_trial_is_there_with_its_reason_and_without_numbers(results: Path) -> None:
    row = trial(results, failed)
    assert (row["state"], row["verdict"], row["reason"]) == ("failed", "invalid", "Broker 2 died.")
    kept = {"trial", "round", "system", "case", "state", "verdict", "reason", "account_complete"}
    assert {name for name, value in row.items() if value is not None} == kept


def test_a_trial_without_sends_counts_zero_and_has_no_times(results: Path) -> None:
    row = trial(results, silent)
    assert [row[name] for name in COUNTERS] == [0] * len(COUNTERS)
    assert (row["throughput_msgs_per_s"], row["service_p50_ns"], row["e2e_messages"]) == (0.0, None, 0)


def test_without_receives_every_acknowledged_message_is_lost(results: Path) -> None:
    row = trial(results, fire_and_forget)
    assert (row["acked"], row["received"], row["lost"]) == (3, 0, 3)
    assert messages(results, fire_and_forget, "lost") == [(i, 0, None, None, None) for i in range(3)]


def test_response_time_counts_from_when_a_send_was_due(results: Path) -> None:
    row = trial(results, open_loop)
    assert row["service_max_ns"] == seconds(0.02)
    assert row["response_max_ns"] == seconds(0.07)
    assert [row["queue_min_ns"], row["queue_max_ns"]] == [0, seconds(0.05)]


def test_what_was_due_and_never_made_took_longer_than_all_that_was(results: Path) -> None:
    row = trial(results, overloaded)
    assert (row["due_unsent"], row["sent"], row["acked"], row["failed"]) == (3, 16, 15, 1)
    # Of 0.02, 0.04 … 0.1 s and three without an end the 4th; the 8th has none.
    assert [row[f"response_{point}_ns"] for point in ("min", "p50", "p90", "max", "mean")] == [
        seconds(0.02),
        seconds(0.08),
        None,
        None,
        None,
    ]
    assert [row["queue_p50_ns"], row["queue_p90_ns"]] == [0, None]
    assert row["service_max_ns"] == seconds(0.1)
    assert trial(results, open_loop)["due_unsent"] is None  # nobody told when its load was to end


def test_a_closed_loop_has_no_response_and_no_queue_time(results: Path) -> None:
    row = trial(results, edges)
    assert [row["response_p50_ns"], row["queue_p50_ns"]] == [None, None]


def test_the_timeline_has_every_second_also_the_silent_one(results: Path) -> None:
    counts = [
        [row[name] for name in ("second", "in_window", "acked", "failed", "unknown", "received")]
        for row in rows(results, "timeline", spread_out)
    ]
    assert counts == [
        [0, False, 2, 0, 0, 1],  # from 5.0 s: begins before the window
        [1, True, 0, 0, 0, 0],
        [2, True, 2, 1, 1, 0],  # sequences 2 and 3; the one never told counts where it was sent
        [3, False, 0, 0, 0, 1],
    ]


def test_the_timelines_service_times_are_by_the_second_of_sending(results: Path) -> None:
    times = [
        [row[name] for name in ("service_p50_ns", "service_p99_ns", "service_max_ns")]
        for row in rows(results, "timeline", spread_out)
    ]
    assert times == [
        [seconds(0.2), seconds(1.3), seconds(1.3)],  # 0.1, 0.2, 1.3
        [None] * 3,
        [seconds(0.3)] * 3,
        [None] * 3,
    ]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (broken_sequence, "The sends of producer 0 are not the sequence 0 to 1: 2 rows from 0 to 2."),
        (repeated, "The sends of producer 0 are not the sequence 0 to 2: 3 rows from 0 to 2."),
        (endless, "1 acknowledged sends of producer 0 have no done_ns."),
        (backward, "1 sends of producer 3 were done before they were sent."),
    ],
)
def test_sends_that_cannot_have_been_so_make_a_trial_invalid(results: Path, make: Make, reason: str) -> None:
    row = trial(results, make)
    assert (row["verdict"], row["reason"]) == ("invalid", reason)


def test_tables_are_there_twice_and_alike(results: Path) -> None:
    names = set(TABLES)
    assert {path.stem for kind in ("parquet", "csv") for path in results.glob(f"*.{kind}")} == names
    for name in names:
        table = pq.read_table(results / f"{name}.parquet")
        options = pc.ConvertOptions(
            column_types=table.schema,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        csv = pc.read_csv(
            results / f"{name}.csv",
            parse_options=pc.ParseOptions(newlines_in_values=True),
            convert_options=options,
        )
        assert csv.column_names == table.column_names
        assert csv.to_pylist() == table.to_pylist()


def test_the_summary_says_how_much_was_analysed(results: Path) -> None:
    summary = json.loads(results.joinpath("summary.json").read_text())
    assert summary["messages"] == sum(len(make().sends or []) for make in TRIALS)
    assert summary["figure"] == "response"  # one trial is an open loop


def test_nothing_but_the_results_is_left_behind(results: Path) -> None:
    assert {path.name for path in results.parent.iterdir()} == {
        "manifest.json",
        "plan.json",
        "trials",
        "results",
    }
