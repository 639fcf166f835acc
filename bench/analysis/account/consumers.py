"""What each live consumer saw, partition by partition: where it went back or skipped, and reads that do not agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.account.delivery import MESSAGE, is_kind
from bench.analysis.account.order import POSITION
from bench.analysis.log import EventLog
from bench.columns import CONSUMER_COUNTERS
from bench.records.trial import TrialRecord

Row = dict[str, Any]

_LANE = ("trial", "consumer", "partition")
_READ = ("read_unacknowledged", "read_then_gone")
_UNSETTLED = ("failed", "unknown", "lost")
"""Where an account has none of these, every message is acknowledged and in the full read."""


def consumer_rows(
    log: EventLog,
    messages: DataFrame,
    trials: Iterable[TrialRecord],
    accounts: Mapping[int, Mapping[str, int | None]],
) -> list[Row]:
    """Give the rows of the table `consumers`: a row a trial, live consumer and partition that has a count but 0.

    Trials without live consumers cost nothing, nor do those with members of a group, which have a part each; those with
    a clean account cost one exchange of their receives.
    """
    consumed = [trial for trial in trials if trial.load.consumers and not trial.has_consumer_group]
    if not consumed:
        return []
    numbers = [trial.trial for trial in consumed]
    verified_trials = {trial.trial for trial in consumed if trial.is_verified}
    unsettled = [trial for trial in numbers if any(accounts.get(trial, {}).get(name) for name in _UNSETTLED)]
    by_lane: dict[tuple[int, ...], Row] = {}
    for row in [
        *_counts(_polls(log.receives.where(F.col("trial").isin(numbers)))),
        *(_counts(_doubtful_reads(log, messages, unsettled, verified_trials)) if unsettled else ()),
    ]:
        lane = tuple(row[name] for name in _LANE)
        by_lane.setdefault(lane, dict.fromkeys(CONSUMER_COUNTERS, 0)).update(row)
    return [
        row if row["trial"] in verified_trials else row | {"read_then_gone": None}
        for _, row in sorted(by_lane.items())
    ]


def sums_by_trial(rows: Iterable[Row]) -> dict[int, Counter[str]]:
    """Add up the counters of each trial over its consumers and partitions."""
    sums: dict[int, Counter[str]] = {}
    for row in rows:
        sums.setdefault(row["trial"], Counter()).update({name: row[name] or 0 for name in CONSUMER_COUNTERS})
    return sums


def _counts(frame: DataFrame) -> Iterator[Row]:
    """Bring the rows here in which anything was counted."""
    counted = [name for name in frame.columns if name not in _LANE]
    for row in frame.where(reduce(or_, [F.col(name) > 0 for name in counted])).collect():
        yield row.asDict()


def _polls(receives: DataFrame) -> DataFrame:
    """Follow each consumer through each partition, in the order in which it had the rows.

    Positions that any reader had are numbered within their partition. One exchange, by partition.
    """
    positions = Window.partitionBy("trial", "partition").orderBy(*POSITION)
    at_position = Window.partitionBy("trial", "partition", *POSITION)
    lane = Window.partitionBy(*_LANE).orderBy("received_ns", "file", "row")
    two_messages = [F.min(name).over(at_position) != F.max(name).over(at_position) for name in MESSAGE[1:]]
    place, furthest = F.col("place"), lane.rowsBetween(Window.unboundedPreceding, -1)
    live = (
        receives.withColumns({name: F.coalesce(F.col(name), F.lit(-1)) for name in POSITION})
        .repartition("trial", "partition")
        .withColumn("place", F.dense_rank().over(positions))
        .withColumn("two_messages", reduce(or_, two_messages))
        .where("stage = 'live'")
        .withColumn("previous", F.lag("place").over(lane))
        .withColumn("furthest", F.max("place").over(furthest))
    )
    return live.groupBy(*_LANE).agg(
        F.count_if(place <= F.col("previous")).alias("polls_back"),
        F.count_if(place > F.col("furthest") + 1).alias("polls_skipped"),
        F.count_distinct(F.when(F.col("two_messages"), place)).alias("positions_with_two_messages"),
    )


def _doubtful_reads(
    log: EventLog, messages: DataFrame, trials: Iterable[int], verified_trials: Iterable[int]
) -> DataFrame:
    """Count the messages that consumers of some trials had and that were not acknowledged, or are not there.

    A consumer that had one several times in a partition counts it once. Only in `verified_trials` can one be gone.
    """
    unacknowledged, gone = (is_kind(kind) for kind in _READ)
    doubtful = (
        messages.where(F.col("trial").isin(list(trials)))
        .select(
            *MESSAGE,
            unacknowledged.alias(_READ[0]),
            (gone & F.col("trial").isin(list(verified_trials))).alias(_READ[1]),
        )
        .where(" or ".join(_READ))
    )
    live = log.receives.where("stage = 'live'").select("consumer", "partition", *MESSAGE)
    reads = live.join(doubtful, [*MESSAGE]).distinct()
    return reads.groupBy(*_LANE).agg(*[F.count_if(F.col(kind)).alias(kind) for kind in _READ])
