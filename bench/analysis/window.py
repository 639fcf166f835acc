"""The measured window of each trial, laid over the event log: what counts, when, how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.folder import TrialRecord
from bench.analysis.log import EventLog
from bench.model import NANOS, Outcome

PARTS = 20
"""Into so many equal parts a window is cut, to see whether something changes along it."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Every trial's window and first send as a small table that any other can be joined with.

    A trial without a window has an empty one: nothing lies inside.
    """

    frame: DataFrame

    def over(self, other: DataFrame) -> DataFrame:
        """Add start_ns, end_ns, first_ns, closed, consumed and timed to a table that has `trial`."""
        return other.join(F.broadcast(self.frame), "trial")

    def sends(self, log: EventLog) -> DataFrame:
        """Give every send with what follows from its times.

        Adds acked, in_window and window_part (by sent_ns), sent_second, done_second and done_in_window (by
        done_ns; where that is null, by sent_ns and outside), service_ns (null unless acked), response_ns and
        queue_ns (null in a closed loop too).
        """
        sent, done, due = F.col("sent_ns"), F.col("done_ns"), F.col("due_ns")
        acked = F.col("outcome") == "ok"
        scheduled = acked & ~F.col("closed")
        return self.over(log.sends).select(
            "trial",
            "outcome",
            "error",
            "bytes",
            acked.alias("acked"),
            inside(sent).alias("in_window"),
            part(sent).alias("window_part"),
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
        sent, seen = F.col("sent_ns"), F.col("live_ns")
        awaited = F.col("consumed") & (F.col("outcome") == Outcome.OK.value)
        return (
            self.over(messages.where(F.col("sends") > 0))
            .where(seen.isNotNull() | awaited)
            .select("trial", inside(sent).alias("in_window"), (seen - sent).alias("e2e_ns"))
        )


def windows(spark: SparkSession, trials: Iterable[TrialRecord], first_ns: Mapping[int, int]) -> Windows:
    """Build the table; `first_ns` holds the first send of every trial that has one."""
    rows = [
        (
            trial.trial,
            trial.window.start_ns if trial.window else 0,
            trial.window.end_ns if trial.window else 0,
            first_ns.get(trial.trial, 0),
            not trial.open_loop,
            bool(trial.load.consumers),
            trial.load.duration_s is not None,
        )
        for trial in trials
    ]
    schema = "trial int, start_ns long, end_ns long, first_ns long, closed boolean, consumed boolean, timed boolean"
    return Windows(spark.createDataFrame(rows, schema))


def inside(time: Column) -> Column:
    """Whether a time lies in the trial's window, whose end is exclusive."""
    return (time >= F.col("start_ns")) & (time < F.col("end_ns"))


def part(time: Column) -> Column:
    """Which of the window's equal parts a time lies in; null without a window."""
    length = F.nullif(F.col("end_ns") - F.col("start_ns"), F.lit(0))
    return F.call_function("div", (time - F.col("start_ns")) * PARTS, length).cast("int")


def second(time: Column) -> Column:
    """Which second of the trial a time lies in; before the first send there is only a clock's error."""
    return F.greatest(F.lit(0), F.call_function("div", time - F.col("first_ns"), F.lit(NANOS)).cast("int"))
