"""Effects of a fault on service: gaps without an acknowledgement, the dip of the rate, the recovery time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from statistics import mean
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.faults import copies, partition_history
from bench.analysis.log import EventLog
from bench.fault_kinds import fault_kind
from bench.model import HEALING, NANOS, NEVER_NS, NEXT, NO_END, RESTART
from bench.records.steps import ReadRecord, RestartRecord, StallRecord, StrikeRecord, UndoRecord
from bench.records.trial import TrialRecord

BIN_NS = NANOS // 10
_BEFORE_BINS = 50
_SECOND_BINS = NANOS // BIN_NS
_STILL_NS = NANOS
"""A partition without an event for so long when it was last looked at stands still; less is between two events."""
_BACK = 0.9
"""The rate is back once a second of it reaches this share of the rate before."""
_NOISE, _MOST_NOISE = 2, 0.5
"""A second is no dip that lost up to so many times what any before the fault differed by, unless more than so much."""

_RATES = ("", "live_")
"""Of acknowledgements, and of what live consumers received: what begins the names of their columns."""
DIP = ("rate_before", "dip_depth", "dip_messages", "back_ns")

Row = dict[str, object]
Span = tuple[int, int]
"""From when to when, in ns."""


@dataclass(frozen=True, slots=True)
class FaultWindow:
    """One fault of a trial: when it was asked for, and when the next one was. What begins after that is the next one's.

    All is counted from when it was asked for: an orderly stop takes seconds, and its effect is their end.
    """

    trial: int
    fault: int
    asked_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True)
class _Repair:
    """What was mended in a trial, how and when; of which fault (its place among the steps) where that only slowed."""

    cause: str
    at_ns: int
    slowed_by: int | None = None


@dataclass(frozen=True, slots=True)
class Availability:
    """What Spark found by fault that took effect: figures of sends and live receives, and acks and receives by bin.

    A fault's key is its trial and its place among the trial's steps. Bins count from when it was asked for.
    """

    struck: Mapping[tuple[int, int], FaultWindow]
    figures: Mapping[tuple[int, int], Row]
    acks: Mapping[tuple[int, int], Mapping[int, int]]
    live: Mapping[tuple[int, int], Mapping[int, int]]


def availability(spark: SparkSession, log: EventLog, trials: Iterable[TrialRecord]) -> Availability:
    """Look at the trials with faults; the others cost nothing."""
    broken = [trial for trial in trials if trial.faults]
    struck = {(strike.trial, strike.fault): strike for trial in broken for strike in _effective_faults(trial)}
    if not struck:
        return Availability({}, {}, {}, {})
    rows = [astuple(strike) for strike in struck.values()]
    faults = spark.createDataFrame(rows, "trial int, fault int, asked_ns long, until_ns long")
    of_faulted = F.broadcast(faults.select("trial").distinct())
    sends = log.sends.join(of_faulted, "trial")
    live = log.receives.where(F.col("stage") == "live").join(of_faulted, "trial")
    figures: dict[tuple[int, int], Row] = {key: {} for key in struck}
    acknowledged_at = F.col("done_ns").alias("at_ns")
    acks = sends.where(F.col("outcome") == "ok").select("trial", "partition", "sent_ns", acknowledged_at)
    received = F.col("received_ns").alias("at_ns")
    received_live = live.select("trial", "partition", "sent_ns", received)
    ends, by_number = _ends(sends), {trial.trial: trial for trial in broken}
    for effects in (
        _first_failed(sends, faults),
        _first_new(acks, faults, "first_acked_ns"),
        _first_new(received_live, faults, "first_received_ns"),
        _gap(acks, ends, faults, by_number, "ack_gap"),
        _gap(received_live, ends, faults, by_number, "live_gap"),
        _others_gap(acks, ends, faults, partition_history.unstruck_partitions(broken)),
    ):
        for key, row in effects.items():
            figures[key] |= row
    return Availability(struck, figures, _bins(acks, faults), _bins(received_live, faults))


def _effective_faults(trial: TrialRecord) -> Iterator[FaultWindow]:
    """Give the faults of a trial that took effect."""
    times = [(number, fault.asked_ns) for number, fault in trial.strikes.items() if fault.took_effect]
    for number, asked_ns in times:
        until_ns = min((later for _, later in times if later > asked_ns), default=NEVER_NS)
        yield FaultWindow(trial.trial, number, asked_ns, until_ns)


def _first_failed(sends: DataFrame, faults: DataFrame) -> dict[tuple[int, int], Row]:
    """Find how long after a fault the first send failed or stayed unknown."""
    done = F.col("done_ns")
    failed = (F.col("outcome") != "ok") & (done >= F.col("asked_ns")) & (done < F.col("until_ns"))
    rows = (
        sends.join(F.broadcast(faults), "trial")
        .groupBy("trial", "fault")
        .agg(F.min(F.when(failed, done - F.col("asked_ns"))).alias("after_ns"))
        .collect()
    )
    return {(row.trial, row.fault): {"first_failed_ns": row.after_ns} for row in rows}


def _first_new(events: DataFrame, faults: DataFrame, name: str) -> dict[tuple[int, int], Row]:
    """Find how long after a fault every partition had acknowledged, or given, a message that was sent since.

    That is the last partition's first one; null where a partition that was in use had none any more.
    """
    since = F.col("sent_ns") >= F.col("asked_ns")
    rows = (
        events.join(F.broadcast(faults), "trial")
        .groupBy("trial", "fault", "partition")
        .agg(F.min(F.when(since, F.col("at_ns") - F.col("asked_ns"))).alias("first_ns"))
        .groupBy("trial", "fault")
        .agg(F.when(F.count("first_ns") == F.count("*"), F.max("first_ns")).alias("after_ns"))
        .collect()
    )
    return {(row.trial, row.fault): {name: row.after_ns} for row in rows}


def _ends(sends: DataFrame) -> DataFrame:
    """Give the end of each trial's sends: a time without events that it cuts off has lasted until then."""
    return sends.groupBy("trial").agg(F.max(F.coalesce("done_ns", "sent_ns")).alias("at_ns"))


def _repairs(trial: TrialRecord) -> Iterator[_Repair]:
    """Give when healing was asked for, of a fault or by a step of its own, and when servers were started again."""
    slowing = {
        fault.name: number for number, fault in trial.strikes.items() if fault_kind(fault.kind).only_slows
    }
    for step in trial.faults:
        match step:
            case RestartRecord(kind="started"):
                yield _Repair(RESTART, step.asked_ns)
            case UndoRecord():
                yield _Repair(HEALING, step.asked_ns, slowing.get(step.of or step.name))
            case StrikeRecord(heal_asked_ns=int(at_ns)):
                yield _Repair(HEALING, at_ns, slowing.get(step.name))


def _gap(
    events: DataFrame,
    ends: DataFrame,
    faults: DataFrame,
    trials: Mapping[int, TrialRecord],
    name: str,
) -> dict[tuple[int, int], Row]:
    """Find the longest time that any one partition had no event, what may have ended it, and when it was served again.

    Those count that ended after the fault was asked for and began before the next one was, and only until then. One
    that was cut, and was `_STILL_NS` long by then, may have become the longest.
    """
    last = (
        events.groupBy("trial", "partition")
        .agg(F.max("at_ns").alias("last_ns"))
        .join(F.broadcast(ends.withColumnRenamed("at_ns", "end_ns")), "trial")
        .select("trial", "partition", F.greatest("last_ns", "end_ns").alias("at_ns"), F.lit(1).alias("last"))
    )
    previous_at = F.lag("at_ns").over(Window.partitionBy("trial", "partition").orderBy("at_ns", "last"))
    events_and_end = events.select("trial", "partition", "at_ns", F.lit(0).alias("last")).unionByName(last)
    gaps = events_and_end.select("trial", "partition", "at_ns", "last", previous_at.alias("begun_ns"))
    length = F.least("at_ns", "until_ns") - F.col("begun_ns")
    cut = ((F.col("at_ns") > F.col("until_ns")) | (F.col("last") == 1)) & (length >= _STILL_NS)
    gap = F.struct(length.alias("gap_ns"), "begun_ns", "at_ns", "last", "until_ns", "partition")
    rows = (
        gaps.join(F.broadcast(faults), "trial")
        .where("at_ns >= asked_ns and begun_ns < until_ns")
        .groupBy("trial", "fault")
        .agg(F.max(gap).alias("gap"), F.max(F.when(cut, gap)).alias("cut"))
        .collect()
    )
    return {
        (row.trial, row.fault): {
            f"{name}_ns": row.gap.gap_ns,
            f"{name}_served_ns": _served_ns(row.gap, trials[row.trial]),
            f"{name}_ended": _end_cause(row.cut or row.gap, row.fault, _repairs(trials[row.trial])),
        }
        for row in rows
    }


def _others_gap(
    acks: DataFrame, ends: DataFrame, faults: DataFrame, unstruck_partitions: Sequence[tuple[int, int, int]]
) -> dict[tuple[int, int], Row]:
    """Find the longest time without an acknowledgement of any partition that a node served which was not struck.

    `unstruck_partitions` are these: trial, fault, partition. It counts as in `_gap`.
    """
    if not unstruck_partitions:
        return {}
    spark = acks.sparkSession
    unstruck = F.broadcast(
        spark.createDataFrame(list(unstruck_partitions), "trial int, fault int, partition int")
    )
    unstruck_acks = acks.join(unstruck, ["trial", "partition"]).select("trial", "fault", "at_ns")
    last = ends.join(unstruck.select("trial", "fault").distinct(), "trial").select("trial", "fault", "at_ns")
    begun = F.lag("at_ns").over(Window.partitionBy("trial", "fault").orderBy("at_ns")).alias("begun_ns")
    gaps = unstruck_acks.unionByName(last).select("trial", "fault", "at_ns", begun)
    rows = (
        gaps.join(F.broadcast(faults), ["trial", "fault"])
        .where("at_ns >= asked_ns and begun_ns < until_ns")
        .groupBy("trial", "fault")
        .agg(F.max(F.least("at_ns", "until_ns") - F.col("begun_ns")).alias("gap_ns"))
        .collect()
    )
    return {(row.trial, row.fault): {"others_gap_ns": row.gap_ns} for row in rows}


def _served_ns(gap: Any, trial: TrialRecord) -> int | None:  # noqa: ANN401 - a row of Spark
    """Tell how much of a gap was left when its partition was seen with a server that came within it, if one did."""
    end_ns = min(gap.at_ns, gap.until_ns)
    moved_ns = partition_history.moved_ns(trial.history, gap.partition, gap.begun_ns, end_ns)
    return None if moved_ns is None else end_ns - moved_ns


def _end_cause(gap: Any, fault: int, repairs: Iterable[_Repair]) -> str | None:  # noqa: ANN401 - a row of Spark
    """Name what may have ended a fault's gap; None where it ended by itself."""
    if gap.at_ns > gap.until_ns:
        return NEXT
    return NO_END if gap.last else _repair_in((gap.begun_ns, gap.at_ns), repairs, fault)


def _repair_in(span: Span, repairs: Iterable[_Repair], fault: int | None) -> str | None:
    """Name what was mended within a time without service; of what only slowed something, `fault` itself."""
    within = {
        repair.cause
        for repair in repairs
        if span[0] < repair.at_ns < span[1] and repair.slowed_by in {None, fault}
    }
    return next((cause for cause in (HEALING, RESTART) if cause in within), None)


def _bins(events: DataFrame, faults: DataFrame) -> dict[tuple[int, int], dict[int, int]]:
    number = F.floor((F.col("at_ns") - F.col("asked_ns")) / BIN_NS).alias("bin")
    counts: dict[tuple[int, int], dict[int, int]] = {}
    for row in events.join(F.broadcast(faults), "trial").groupBy("trial", "fault", number).count().collect():
        counts.setdefault((row.trial, row.fault), {})[row.bin] = row["count"]
    return counts


def fault_rows(
    trials: Iterable[TrialRecord],
    first_ns: Mapping[int, int],
    fault_availability: Availability,
    joined: Mapping[tuple[int, int], Row],
) -> list[Row]:
    """Give the rows of the table `faults`; `joined` has what came of steps that started nodes (node_joining.py)."""
    return [
        row | joined.get((trial.trial, number), {})
        for trial in trials
        for number, row in _rows(trial, first_ns.get(trial.trial, 0), fault_availability)
    ]


@dataclass(frozen=True, slots=True)
class _UsualPeriod:
    """When a rate is as usual: since the first send, or since it was back from a fault; and before that struck."""

    since_ns: int
    previous_span: Span | None = None

    def until(self, asked_ns: int) -> Span:
        """Return the time that tells the rate before a fault: that before an earlier one, where it was just back."""
        just_back = 0 <= asked_ns - self.since_ns < NANOS
        return self.previous_span if self.previous_span and just_back else (self.since_ns, asked_ns)


def _rows(trial: TrialRecord, first_ns: int, fault_availability: Availability) -> Iterator[tuple[int, Row]]:
    usual = dict.fromkeys(_RATES, _UsualPeriod(first_ns))
    soon = {strike.fault for strike in _effective_faults(trial) if strike.until_ns - strike.asked_ns < NANOS}
    for number, fault in trial.strikes.items():
        usual_spans = {rate: usual_rate.until(fault.asked_ns) for rate, usual_rate in usual.items()}
        row = _row(trial, number, first_ns, fault_availability, usual_spans)
        for rate in _RATES:
            if row.get(f"{rate}rate_before") is not None and (back_ns := row[f"{rate}back_ns"]) != 0:
                since_ns = fault.asked_ns + back_ns if isinstance(back_ns, int) else NEVER_NS
                usual[rate] = _UsualPeriod(since_ns, usual_spans[rate])
            elif number in soon and usual[rate].since_ns <= fault.asked_ns:
                usual[rate] = _UsualPeriod(fault.asked_ns, usual_spans[rate])
        yield number, row


def breakage(trial: TrialRecord, rows: Iterable[Row], account: Mapping[str, int | None]) -> Row:
    """Give the longest of what a trial's faults did, for its row in `trials`; null where nothing can be said.

    A reader's stall is the longest time in which nothing came to the reader that a step started; one that failed, and
    stood nowhere, says nothing. `account` has when the first and the last of the lost messages was sent.
    """
    trial_rows = [row for row in rows if row["trial"] == trial.trial]
    first_ns = min((fault.asked_ns for fault in _effective_faults(trial)), default=None)
    longest = max(trial_rows, key=_gap_ns, default={})
    stands = any(row.get("ack_gap_ended") == NO_END for row in trial_rows)
    readers = [step for step in trial.faults if isinstance(step, ReadRecord)]
    stalls = [stall for step in readers for stall in step.stalls]
    still = max(stalls, key=lambda stall: stall.length_ns, default=None)
    read = bool(readers) and all(step.complete or step.stalls for step in readers)
    struck = [(trial.strikes[fault.fault], fault.until_ns) for fault in _effective_faults(trial)]
    missing = copies.longest_absence(trial.history, trial.faults, struck)
    return {
        "unavailable_ns": longest.get("ack_gap_ns"),
        "unavailable_ended": NO_END if stands else longest.get("ack_gap_ended"),
        "reader_stall_ns": (still.length_ns if still else 0) if read else None,
        "reader_stall_ended": _stall_ended(trial, readers, still) if still else None,
        "reader_short_entries": copies.short_of(trial.history, still) if still else None,
        "copies_missing_ns": missing.for_ns if missing else None,
        "copies_missing_ended": NO_END if missing and missing.cut else None,
        "moves": copies.moves(trial.history) if trial.history else None,
        **{
            f"lost_{which}_ns": at_ns - first_ns
            for which in ("first", "last")
            if trial.is_verified
            and first_ns is not None
            and (at_ns := account.get(f"lost_{which}")) is not None
        },
    }


def _stall_ended(trial: TrialRecord, readers: Iterable[ReadRecord], longest: StallRecord) -> str | None:
    """Name what may have ended a reader's longest stall; it has no end where a reader stood when it was given up."""
    if any(step.stood_still for step in readers):
        return NO_END
    return _repair_in((longest.from_ns, longest.to_ns), _repairs(trial), None)


def _gap_ns(row: Row) -> int:
    value = row.get("ack_gap_ns")
    return value if isinstance(value, int) else 0


def _row(
    trial: TrialRecord,
    number: int,
    first_ns: int,
    fault_availability: Availability,
    usual: Mapping[str, Span],
) -> Row:
    """Give a fault's row; `usual` is when the rates of acknowledgements and of live receives were as usual."""
    fault = trial.strikes[number]
    row: Row = {
        "trial": trial.trial,
        "fault": fault.name,
        "kind": fault.kind,
        "nodes": " ".join(fault.nodes),
        "proven": fault.proven,
        "asked_ns": fault.asked_ns - first_ns,
        "effect_ns": _since(fault.effect_ns, first_ns),
        "healed_ns": _since(fault.healed_ns, first_ns),
    }
    struck = fault_availability.struck.get((trial.trial, number))
    if struck:
        end_ns = trial.window.end_ns if trial.window else struck.asked_ns
        until, end = (at_ns - struck.asked_ns for at_ns in (struck.until_ns, end_ns))
        key = trial.trial, number
        row |= fault_availability.figures[key]
        for rate, bins in (("", fault_availability.acks), ("live_", fault_availability.live)):
            usual_before = usual[rate][0] - struck.asked_ns, usual[rate][1] - struck.asked_ns
            fell = dip(bins.get(key, {}), usual_before, until, end)
            row |= {f"{rate}{name}": value for name, value in fell.items()}
        back = copies.back(trial.history, trial.faults, fault, struck.until_ns)
        row |= {"copies_back_ns": back and back.after_ns, "copies_back_how": back and back.cause}
    return row


def _since(at_ns: int | None, first_ns: int) -> int | None:
    return None if at_ns is None else at_ns - first_ns


def dip(bins: Mapping[int, int], usual_times: Span, until_ns: int, end_ns: int) -> Row:
    """Hold the rate after a fault was asked for against the rate before it, by bins of 100 ms from then on.

    The `usual_times` reach from the first send, or from when the rate was back from an earlier fault, until this
    one. They, the next fault `until_ns` and the window's `end_ns` count from when the fault was asked for, too. The
    same is asked of what live consumers received. Before: the mean over the last one to five seconds of the usual
    times, as what is held up comes in one burst. With less there is no rate before, and no dip. Nor has a fault a
    dip that the next one followed within a second. Depth: how much of it the worst second lost that ended before
    `until_ns`. It fell where that is more than a tenth, and more than half or than twice what any second before
    differed from the mean by. Back: the end of the first second after the worst that reaches 90 % of the rate
    before; 0 where it did not fall, null where it never came back. Area: what seconds until then lack, also where
    the next fault struck meanwhile.
    """
    since_ns, last = usual_times[0], usual_times[1] // BIN_NS
    bins_before = min(_BEFORE_BINS, max(0, last - -(-since_ns // BIN_NS)))
    earlier = [bins.get(number, 0) for number in range(last - bins_before, last)]
    later = [bins.get(number, 0) for number in range(end_ns // BIN_NS)]
    usual = mean(earlier) * _SECOND_BINS if len(earlier) >= _SECOND_BINS else 0.0
    row: Row = dict.fromkeys(DIP)
    if not usual or min(len(later), until_ns // BIN_NS) < _SECOND_BINS:
        return row
    seconds = _seconds(later)
    own_seconds = seconds[: until_ns // BIN_NS - _SECOND_BINS + 1]
    worst = own_seconds.index(min(own_seconds))
    depth = max(0.0, 1 - own_seconds[worst] / usual)
    row |= {"rate_before": usual, "dip_depth": depth, "dip_messages": 0, "back_ns": 0}
    noise = max((_NOISE * abs(second / usual - 1) for second in _seconds(earlier)), default=0.0)
    if depth <= max(1 - _BACK, min(noise, _MOST_NOISE)):
        return row
    least_rate = _BACK * usual
    back = next((start for start in range(worst, len(seconds)) if seconds[start] >= least_rate), None)
    until = len(later) if back is None else back + _SECOND_BINS
    return row | {
        "dip_depth": 1 - min(seconds[worst : until - _SECOND_BINS + 1]) / usual,
        "dip_messages": round(_shortfall(later[:until], usual / _SECOND_BINS)),
        "back_ns": None if back is None else until * BIN_NS,
    }


def _seconds(bins: Sequence[int]) -> list[int]:
    """Add bins up to seconds, one beginning at each bin that has a whole second after it."""
    return [sum(bins[start : start + _SECOND_BINS]) for start in range(len(bins) - _SECOND_BINS + 1)]


def _shortfall(bins: Sequence[int], usual: float) -> float:
    """Add up what each second lacks of the rate before; what comes on top in another makes up for nothing."""
    seconds = [bins[start : start + _SECOND_BINS] for start in range(0, len(bins), _SECOND_BINS)]
    return sum(max(0.0, usual * len(second) - sum(second)) for second in seconds)
