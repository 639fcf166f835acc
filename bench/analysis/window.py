"""The window or the slices of each trial, laid over the event log: what is inside, when, how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.log import EventLog
from bench.model import NANOS, Outcome
from bench.records.trial import HoldKey, SliceRecord, TrialRecord

PARTS = 20
"""Into so many equal parts a window, or the slices of one, are cut, to see whether something changes along it."""

_EMPTY = SliceRecord.model_construct(slice=0, cycle=0, begun_ns=0, start_ns=0, end_ns=0)
"""Stands for the window of a trial that has none."""
_SCHEMA = (
    "trial int, slice int, begun_ns long, start_ns long, end_ns long, over_ns long, slices int, first_ns long, "
    "closed boolean, consumed boolean, timed boolean"
)


@dataclass(frozen=True, slots=True)
class Windows:
    """The stretches of every trial that count, as a small table that any other can be joined with.

    It has a row a slice, and one (slice 0) for the window of a contiguous trial. A trial without a window has an empty
    one: nothing lies inside.
    """

    frame: DataFrame

    def over(self, rows: DataFrame) -> DataFrame:
        """Add what is known of a row's own slice to a table that has `trial` and `slice`.

        Adds begun_ns, start_ns and end_ns (of the slice, or of the window). Adds over_ns (when its last send had
        ended; of a window its end) and slices (their number; null in a contiguous trial). Adds first_ns (the
        trial's first send), closed, consumed and timed. All of them are null for a slice that trial.json does not
        have.
        """
        return rows.join(F.broadcast(self.frame), ["trial", "slice"], "left")

    def over_trial(self, rows: DataFrame) -> DataFrame:
        """Add the same, of the trial's first slice, to a table that has `trial` only."""
        return self.over(rows.withColumn("slice", F.lit(0)))

    def sends(self, log: EventLog) -> DataFrame:
        """Give every send with what follows from its times.

        Adds acked, in_window and window_part (by sent_ns), and sent_second. Adds done_second and done_in_window (by
        done_ns; where that is null, by sent_ns and outside). Adds service_ns (null unless acked), response_ns and
        queue_ns (null in a closed loop too), and sliced. What is in the window is inside the part of the send's own
        slice that counts.
        """
        sent, done, due = F.col("sent_ns"), F.col("done_ns"), F.col("due_ns")
        acked = F.col("outcome") == "ok"
        scheduled = acked & ~F.col("closed")
        return self.over(log.sends).select(
            "trial",
            "slice",
            "outcome",
            "error",
            "bytes",
            F.col("slices").isNotNull().alias("sliced"),
            acked.alias("acked"),
            inside(sent).alias("in_window"),
            _part(sent).alias("window_part"),
            (done.isNotNull() & inside(done)).alias("done_in_window"),
            second(sent).alias("sent_second"),
            second(F.coalesce(done, sent)).alias("done_second"),
            F.when(acked, done - sent).alias("service_ns"),
            F.when(scheduled, done - due).alias("response_ns"),
            F.when(scheduled, sent - due).alias("queue_ns"),
        )

    def messages(self, messages: DataFrame) -> DataFrame:
        """Give in_window and e2e_ns of every message of the trial that a live consumer saw or should have seen.

        Those are the acknowledged ones, where there were live consumers: e2e_ns is null where none saw it.
        """
        sent, live_ns = F.col("sent_ns"), F.col("live_ns")
        awaited = F.col("consumed") & (F.col("outcome") == Outcome.OK.value)
        return (
            self.over(messages.where(F.col("sends") > 0))
            .where(live_ns.isNotNull() | awaited)
            .select("trial", inside(sent).alias("in_window"), (live_ns - sent).alias("e2e_ns"))
        )


def last_ends(sends: DataFrame) -> dict[HoldKey, int]:
    """Return when the last send of each slice had ended, by trial and slice."""
    rows = sends.groupBy("trial", "slice").agg(F.max("done_ns").alias("at_ns")).collect()
    return {(row["trial"], row["slice"]): row["at_ns"] for row in rows if row["at_ns"] is not None}


def windows(
    spark: SparkSession,
    trials: Iterable[TrialRecord],
    first_ns: Mapping[int, int],
    ends_ns: Mapping[HoldKey, int] | None = None,
) -> Windows:
    """Build the table; `first_ns` holds the first send of every trial that has one, `ends_ns` is of `last_ends`.

    Only `over_ns` needs it.
    """
    ended_ns = ends_ns or {}
    rows = [
        (
            trial.trial,
            span.slice,
            span.begun_ns,
            span.start_ns,
            span.end_ns,
            max(span.end_ns, ended_ns.get((trial.trial, span.slice), 0)) if trial.has_slices else span.end_ns,
            len(trial.spans) if trial.has_slices else None,
            first_ns.get(trial.trial, 0),
            not trial.open_loop,
            bool(trial.load.consumers),
            trial.load.duration_s is not None,
        )
        for trial in trials
        for span in trial.spans or (_EMPTY,)
    ]
    return Windows(spark.createDataFrame(rows, _SCHEMA))


def inside(time: Column) -> Column:
    """Whether a time lies in the window, or in the part of the slice that counts; the end is exclusive."""
    return F.coalesce((time >= F.col("start_ns")) & (time < F.col("end_ns")), F.lit(False))  # noqa: FBT003 - Spark's way to write false


def _part(time: Column) -> Column:
    """Which of the window's equal parts a time lies in, or which of the trial's slices; null without a window."""
    length = F.nullif(F.col("end_ns") - F.col("start_ns"), F.lit(0))
    along = F.call_function("div", (time - F.col("start_ns")) * PARTS, length)
    ordinal = F.call_function("div", F.col("slice") * PARTS, F.col("slices"))
    return F.coalesce(ordinal, along).cast("int")


def second(time: Column) -> Column:
    """Which second of the trial a time lies in; before the first send there is only a clock's error."""
    return F.greatest(F.lit(0), F.call_function("div", time - F.col("first_ns"), F.lit(NANOS)).cast("int"))
