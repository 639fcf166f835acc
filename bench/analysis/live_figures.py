"""The figures of one finished trial, computed without a Spark session, for decisions during a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.analysis.folder import parquet_files, read_trial
from bench.analysis.log import RECEIVES, SENDS, LogColumn
from bench.analysis.log_validation import LogCheck, ProducerSums, soundness
from bench.analysis.speed.holds import capacities, held_slice, level_of
from bench.analysis.speed.latency import POINTS, Distribution
from bench.analysis.speed.quantiles import SCALE
from bench.analysis.speed.throughput import SendTally, sends_by_slice
from bench.analysis.speed.unsent_counts import unsent_counts
from bench.analysis.trials import Row, TrialCounts, trial_row
from bench.capacity.hold import Hold
from bench.capacity.hold_log import read_hold
from bench.errors import EventLogError
from bench.model import NANOS, Outcome
from bench.records.trial import HoldKey, TrialRecord

Longs: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

_MESSAGE = ("producer", "sequence", "sent_ns")
_POSITION = ("ledger", "entry", "batch_index")
_NULL = -1
"""Stands for null in times and positions, which are never negative."""
_MEDIAN = SCALE // 2
_NEED_TELEMETRY = ("bottleneck", "bottleneck_evidence")
_OUTCOMES = pa.array([outcome.label for outcome in Outcome])


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """A trial's row of the table `trials`, and the figures of its slices that ratios need."""

    row: Row
    slices: list[Row]


def figures(trial_folder: Path) -> TrialFigures:
    """Return a finished trial's row of the table `trials` and its slices, as `analyse` computes them.

    The columns that come from telemetry, from other trials (flags, drift) and from faults are missing; a column that is
    null may be.

    Raises:
        EventLogError: trial.json or a Parquet file is not as docs/event-log.md says; the message names the file.
    """
    trial = read_trial(trial_folder)
    sends = _read(trial_folder, "sends", SENDS)
    row = trial_row(trial, trial.settings, _trial_counts(trial, trial_folder, sends))
    columns = {name: value for name, value in row.items() if name not in _NEED_TELEMETRY}
    return TrialFigures(columns, list(_slices(trial, sends)))


@dataclass(frozen=True, slots=True)
class _Spans:
    """The counted parts of a trial: starts and ends by slice, in nanoseconds."""

    starts_ns: Longs
    ends_ns: Longs

    def inside(self, slices: Longs, times_ns: Longs) -> Flags:
        """Say of each time whether it lies in the counted part of its own slice."""
        listed = (slices >= 0) & (slices < len(self.starts_ns))
        if not listed.any():
            return listed
        places = np.where(listed, slices, 0)
        inside: Flags = listed & (times_ns >= self.starts_ns[places]) & (times_ns < self.ends_ns[places])
        return inside


def _trial_counts(trial: TrialRecord, folder: Path, sends: Any) -> TrialCounts:  # noqa: ANN401 - pyarrow has no types
    receives = _read(folder, "receives", RECEIVES)
    number = trial.trial
    messages = _messages(sends, receives)
    record = _check_sends(trial, sends)
    tallies = _tallies(trial, sends)
    missing = unsent_counts(trial, sends_by_slice(tallies)) if tallies else {}
    never_made = sum(counts.in_window for counts in missing.values())
    distributions = _send_distributions(trial, sends, never_made) | _e2e_distribution(trial, messages)
    late = _out_of_order(receives)
    return TrialCounts(
        logged={number} if parquet_files(folder, "sends") else set(),
        recorded={number: record} if record else {},
        tallies={number: tallies},
        unsent={number: sum(counts.in_slice for counts in missing.values())} if missing else {},
        distributions={
            (number, measure): values for measure, values in distributions.items() if values.count
        },
        accounts={number: _account(messages)},
        out_of_order={number: late},
        consumers={number: _consumers(receives, messages)},
        capacities=capacities([trial], _holds(trial, folder)),
        used={},
    )


def _holds(trial: TrialRecord, folder: Path) -> dict[HoldKey, Hold]:
    return {
        (trial.trial, record.slice): read_hold(folder, held_slice(trial, record), level_of(trial))
        for record in trial.holds or ()
    }


def _read(folder: Path, stage: str, columns: Mapping[str, LogColumn]) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Read one stage of a trial as a table; columns that its format does not have are 0."""
    schema = pa.schema([(name, column.arrow) for name, column in columns.items()])
    parts = [_read_part(path, schema, columns) for path in parquet_files(folder, stage)]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _read_part(path: Path, schema: Any, columns: Mapping[str, LogColumn]) -> Any:  # noqa: ANN401 - as above
    try:
        table = pq.read_table(path)
        for name, column in columns.items():
            if column.since > 1 and name not in table.column_names:
                table = table.append_column(name, pa.array(np.zeros(len(table)), column.arrow))
        return table.select(schema.names).cast(schema)
    except (OSError, KeyError, pa.ArrowException) as error:
        raise EventLogError(f"reading {path}: {error} (docs/event-log.md)") from error


def _longs(table: Any, name: str) -> Longs:  # noqa: ANN401 - as above
    """Return a column of integers, with -1 for null."""
    column: Longs = pc.fill_null(table[name], _NULL).to_numpy().astype(np.int64)
    return column


def _flags(column: Any) -> Flags:  # noqa: ANN401 - as above
    flags: Flags = column.to_numpy()
    return flags


def _spans(trial: TrialRecord) -> _Spans:
    return _Spans(
        np.array([span.start_ns for span in trial.spans], np.int64),
        np.array([span.end_ns for span in trial.spans], np.int64),
    )


def _check_sends(trial: TrialRecord, sends: Any) -> LogCheck | None:  # noqa: ANN401 - as above
    """Check the sends of each producer; None without any."""
    acked, done_ns = pc.equal(sends["outcome"], Outcome.OK.label), sends["done_ns"]
    rows = pa.table(
        {
            **{name: sends[name] for name in ("producer", "sequence", "sent_ns", "slice")},
            "endless": pc.cast(pc.and_(acked, pc.is_null(done_ns)), pa.int64()),
            "backward": pc.cast(pc.fill_null(pc.less(done_ns, sends["sent_ns"]), False), pa.int64()),  # noqa: FBT003 - pyarrow takes it by place
        }
    )
    aggregates = {
        "first_ns": ("sent_ns", "min"),
        "count": ("sequence", "count"),
        "lowest": ("sequence", "min"),
        "highest": ("sequence", "max"),
        "total": ("sequence", "sum"),
        "endless": ("endless", "sum"),
        "backward": ("backward", "sum"),
        "lowest_slice": ("slice", "min"),
        "highest_slice": ("slice", "max"),
    }
    sums = rows.group_by("producer").aggregate(list(aggregates.values())).sort_by("producer").to_pylist()
    producers = [
        ProducerSums(
            producer=row["producer"],
            **{name: row[f"{column}_{function}"] for name, (column, function) in aggregates.items()},
        )
        for row in sums
    ]
    return soundness(producers, trial.slice_count) if producers else None


def _tallies(trial: TrialRecord, sends: Any) -> list[SendTally]:  # noqa: ANN401 - as above
    """Count the sends by slice and by how they ended. The second and the error are left out: no figure needs them."""
    inside = _spans(trial).inside(_longs(sends, "slice"), _longs(sends, "done_ns"))
    inside &= _flags(pc.is_valid(sends["done_ns"]))
    rows = pa.table(
        {
            "slice": sends["slice"],
            "outcome": sends["outcome"],
            "inside": inside,
            "bytes": pc.cast(sends["bytes"], pa.int64()),
        }
    )
    groups = rows.group_by(["slice", "outcome", "inside"]).aggregate([("bytes", "count"), ("bytes", "sum")])
    return [
        SendTally(
            trial.trial,
            row["slice"],
            0,
            row["outcome"],
            None,
            row["inside"],
            row["bytes_count"],
            row["bytes_sum"],
        )
        for row in groups.to_pylist()
    ]


def _send_distributions(
    trial: TrialRecord,
    sends: Any,  # noqa: ANN401 - as above
    never_made: int,
) -> dict[str, Distribution]:
    """Return service time, and in an open loop response and queue time, of the acknowledged sends that count.

    `never_made` sends have no response and no queue time.
    """
    due_ns, sent_ns, done_ns = (_longs(sends, name) for name in ("due_ns", "sent_ns", "done_ns"))
    counted = _spans(trial).inside(_longs(sends, "slice"), sent_ns)
    counted &= _flags(pc.equal(sends["outcome"], Outcome.OK.label))
    ended = counted & _flags(pc.is_valid(sends["done_ns"]))
    distributions = {"service": _distribution(done_ns[ended] - sent_ns[ended], 0)}
    if trial.open_loop:
        distributions["response"] = _distribution(done_ns[ended] - due_ns[ended], never_made)
        distributions["queue"] = _distribution(sent_ns[counted] - due_ns[counted], never_made)
    return distributions


def _slices(trial: TrialRecord, sends: Any) -> Iterator[Row]:  # noqa: ANN401 - as above
    """Give the throughput and the median service time of each slice of a sliced trial."""
    if not trial.has_slices:
        return
    spans = _spans(trial)
    slices, sent_ns, done_ns = (_longs(sends, name) for name in ("slice", "sent_ns", "done_ns"))
    acked = _flags(pc.equal(sends["outcome"], Outcome.OK.label)) & _flags(pc.is_valid(sends["done_ns"]))
    done, sent = acked & spans.inside(slices, done_ns), acked & spans.inside(slices, sent_ns)
    for place, span in enumerate(trial.spans):
        in_slice = slices == place
        times_ns = (done_ns - sent_ns)[sent & in_slice]
        yield {
            "trial": trial.trial,
            "cycle": span.cycle,
            "throughput_msgs_per_s": int((done & in_slice).sum()) * NANOS / span.length_ns,
            "service_p50_ns": _distribution(times_ns, 0).values.get(_MEDIAN),
        }


def _distribution(values: Longs, missing: int) -> Distribution:
    """Describe values, above which so many rank that have none, by the quantiles of POINTS (nearest rank)."""
    size, count = len(values), len(values) + missing
    ordered = np.sort(values)
    ranks = {quantile: max(1, -(-quantile * count // SCALE)) for quantile in POINTS.values()}
    return Distribution(
        count=count,
        timed_count=size,
        mean_ns=float(values.sum()) / size if size else None,
        values={quantile: int(ordered[rank - 1]) for quantile, rank in ranks.items() if rank <= size},
    )


def _messages(sends: Any, receives: Any) -> Any:  # noqa: ANN401 - as above
    """Bring sends and receives together, a row a message, as account.delivery.messages does."""
    live = pc.equal(receives["stage"], "live")
    sent = pa.table(
        {
            **{name: sends[name] for name in _MESSAGE},
            "sends": pa.array(np.ones(len(sends), np.int64)),
            "slice": sends["slice"],
            "outcome": pc.cast(pc.index_in(sends["outcome"], _OUTCOMES), pa.int64()),
            "copies": pa.array(np.zeros(len(sends), np.int64)),
            "live_ns": pa.nulls(len(sends), pa.int64()),
        }
    )
    received = pa.table(
        {
            **{name: receives[name] for name in _MESSAGE},
            "sends": pa.array(np.zeros(len(receives), np.int64)),
            "slice": pa.nulls(len(receives), pa.int32()),
            "outcome": pa.nulls(len(receives), pa.int64()),
            "copies": pc.cast(pc.invert(live), pa.int64()),
            "live_ns": pc.if_else(live, receives["received_ns"], pa.scalar(None, pa.int64())),
        }
    )
    aggregates = {"sends": "sum", "slice": "max", "outcome": "max", "copies": "sum", "live_ns": "min"}
    rows = pa.concat_tables([sent, received]).group_by(list(_MESSAGE)).aggregate(list(aggregates.items()))
    stored = [*_MESSAGE, *(f"{name}_{function}" for name, function in aggregates.items())]
    return rows.select(stored).rename_columns([*_MESSAGE, *aggregates])


def _e2e_distribution(trial: TrialRecord, messages: Any) -> dict[str, Distribution]:  # noqa: ANN401 - as above
    """Return end-to-end time of the messages that count, which live consumers saw or should have seen."""
    sent_ns = _longs(messages, "sent_ns")
    counted = _spans(trial).inside(_longs(messages, "slice"), sent_ns) & (_longs(messages, "sends") > 0)
    received = _flags(pc.is_valid(messages["live_ns"]))
    awaited = (_longs(messages, "outcome") == Outcome.OK) & bool(trial.load.consumers)
    values = (_longs(messages, "live_ns") - sent_ns)[counted & received]
    return {"e2e": _distribution(values, int((counted & awaited & ~received).sum()))}


def _account(messages: Any) -> dict[str, int | None]:  # noqa: ANN401 - as above
    """Count the messages as account.delivery.accounts does."""
    sends, copies, outcome = (_longs(messages, name) for name in ("sends", "copies", "outcome"))
    sent, present = sends > 0, copies > 0

    def number(rows: Flags) -> int:
        return int(rows.sum())

    return {
        "sent": int(sends.sum()),
        **{
            name: int(sends[outcome == kind].sum())
            for name, kind in zip(("acked", "failed", "unknown"), Outcome, strict=True)
        },
        "received": int(copies.sum()),
        "lost": number(sent & ~present & (outcome == Outcome.OK)),
        "fail_present": number(sent & present & (outcome == Outcome.FAIL)),
        "unknown_present": number(sent & present & (outcome == Outcome.UNKNOWN)),
        "unknown_absent": number(sent & ~present & (outcome == Outcome.UNKNOWN)),
        "duplicates": int((copies[sent & present] - 1).sum()),
        "foreign": int(copies[~sent].sum()),
        "repeated": number(sends > 1),
    }


def _out_of_order(receives: Any) -> int:  # noqa: ANN401 - as above
    """Count the messages whose first occurrence in a partition follows a larger sequence of their producer."""
    verify = receives.filter(pc.not_equal(receives["stage"], "live"))
    if not len(verify):
        return 0
    lanes = [_longs(verify, name) for name in ("partition", "producer")]
    order = np.lexsort([*(_longs(verify, name) for name in reversed(_POSITION)), *reversed(lanes)])
    sequence = _longs(verify, "sequence")[order]
    begins = _begins([lane[order] for lane in lanes])
    keys = (np.cumsum(begins) - 1) * (int(sequence.max()) + 1) + sequence
    behind = np.concatenate([[False], np.maximum.accumulate(keys)[:-1] > keys[1:]])
    if not behind.any():
        return 0
    first = np.zeros(len(keys), bool)
    first[np.unique(keys, return_index=True)[1]] = True
    return int((behind & first).sum())


def _begins(columns: Sequence[Longs]) -> Flags:
    """Say of each row whether it differs from the one before in any column; the first does."""
    differs = np.any([np.diff(column) != 0 for column in columns], axis=0)
    return np.concatenate([[True], differs])


def _consumers(receives: Any, messages: Any) -> dict[str, int]:  # noqa: ANN401 - as above
    """Count what live consumers saw as account.consumers does, over all of them; rows are in their order in the log."""
    live = _flags(pc.equal(receives["stage"], "live"))
    if not live.any():
        return {}
    place, two_messages = (column[live] for column in _places(receives))
    lanes = [_longs(receives, name)[live] for name in ("consumer", "partition")]
    order = np.lexsort([_longs(receives, "received_ns")[live], *lanes])
    begins = _begins([lane[order] for lane in lanes])
    keys = (np.cumsum(begins) - 1) * (int(place.max()) + 2) + place[order]
    furthest = np.maximum.accumulate(keys)[:-1]
    return {
        "polls_back": int((~begins[1:] & (keys[1:] <= keys[:-1])).sum()),
        "polls_skipped": int((~begins[1:] & (keys[1:] > furthest + 1)).sum()),
        "positions_with_two_messages": len(np.unique(keys[two_messages[order]])),
        **_doubtful_reads(receives.filter(live), messages),
    }


def _places(receives: Any) -> tuple[Longs, Flags]:  # noqa: ANN401 - as above
    """Number the positions of each partition in their order, and say at which readers had different messages."""
    position = [_longs(receives, name) for name in ("partition", *_POSITION)]
    message = [_longs(receives, name) for name in _MESSAGE]
    order = np.lexsort([*message, *reversed(position)])
    begins = _begins([column[order] for column in position])
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(begins)
    differs = _begins([column[order] for column in message]) & ~begins
    return places, np.isin(places, places[order[differs]])


def _doubtful_reads(live: Any, messages: Any) -> dict[str, int]:  # noqa: ANN401 - as above
    """Count by consumer and partition the messages read that were not acknowledged, or are not in the full read."""
    refused = (_longs(messages, "outcome") != Outcome.OK) & (_longs(messages, "sends") > 0)
    gone = (_longs(messages, "copies") == 0) & (_longs(messages, "sends") > 0)
    marked = messages.select(_MESSAGE).append_column("refused", pa.array(refused))
    doubtful = marked.append_column("gone", pa.array(gone)).filter(refused | gone)
    lane = ("consumer", "partition", *_MESSAGE)
    reads = live.select(lane).join(doubtful, list(_MESSAGE), join_type="inner")
    distinct = reads.group_by([*lane, "refused", "gone"]).aggregate([])
    return {
        "read_unacknowledged": int(_flags(distinct["refused"]).sum()),
        "read_then_gone": int(_flags(distinct["gone"]).sum()),
    }
