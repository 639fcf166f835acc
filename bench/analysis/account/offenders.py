"""The messages behind a counter, one by one: number, place in the log, and the client's result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.account.delivery import MESSAGE, MESSAGE_KINDS, is_kind
from bench.analysis.account.order import LANE, POSITION
from bench.analysis.log import EventLog
from bench.model import Outcome

LIMIT = 10_000
"""At most so many rows of a trial and kind are listed."""

STRAY = ("fail_present", "unknown_present")
"""The counters of messages that were not acknowledged and are there."""
OFFENCES = ("lost", *STRAY, "unknown_absent", "duplicates", "foreign")
"""The counters of an account that is not clean."""

_PLACE = ("partition", *POSITION)
_NEED_WHOLE_READ = ("lost", "unknown_absent")


def offenders(
    messages: DataFrame, log: EventLog, verify: DataFrame, complete_trials: Iterable[int]
) -> DataFrame:
    """List the offenders of all kinds but out_of_order.

    `complete_trials` are the trials whose full read reached the end: only there can a message be called absent. The
    place is that of the row read back, or where there is none, of the send.
    """
    accused = _label_offenders(messages, complete_trials).persist()
    accused.count()
    copies = _copies(_after_what(verify, accused), accused)
    sends = log.sends.select(*MESSAGE, "error", F.struct(*_PLACE).alias("sent_to"))
    rows = accused.join(sends, [*MESSAGE], "left").join(copies, [*MESSAGE], "left").where(_is_shown_copy())
    place = F.coalesce("found_at", "sent_to")
    rows = rows.select(
        *MESSAGE,
        "kind",
        "copy",
        "error",
        *[place[name].alias(name) for name in _PLACE],
        F.when(F.col("kind") == "duplicate", F.col("previous")).alias("previous"),
        F.when(F.col("kind") == "duplicate", F.col("first")).alias("first"),
    )
    return _columns(_first(rows, "producer", "sequence", "copy"))


def out_of_order_messages(out_of_order: DataFrame) -> DataFrame:
    """List the messages out of order, by place."""
    rows = out_of_order.select(
        "*",
        F.lit("out_of_order").alias("kind"),
        F.lit(None).cast("string").alias("error"),
        F.struct(*[F.lit(None).cast("long").alias(name) for name in _PLACE]).alias("first"),
    )
    return _columns(_first(rows, *_PLACE))


def present(log: EventLog, verify: DataFrame) -> dict[tuple[int, str, str | None], int]:
    """Count the sends that were not acknowledged and are in the log, by trial, outcome and error."""
    unsure = log.sends.where(F.col("outcome") != Outcome.OK.label).select(*MESSAGE, "outcome", "error")
    stored_unsure = unsure.join(verify.select(*MESSAGE), [*MESSAGE], "left_semi")
    rows = stored_unsure.groupBy("trial", "outcome", "error").count().collect()
    return {(row.trial, row.outcome, row.error): row["count"] for row in rows}


def merge_offenders(parts: Sequence[DataFrame]) -> DataFrame:
    """Bring the lists together, in the order of the results."""
    return reduce(DataFrame.unionAll, parts).orderBy("trial", "kind", "nth")


def _label_offenders(messages: DataFrame, complete_trials: Iterable[int]) -> DataFrame:
    """Label each offender with its kinds; most messages have none and fall out here."""
    complete = F.col("trial").isin(list(complete_trials))
    conditions = {
        kind: is_kind(kind) & complete if kind in _NEED_WHOLE_READ else is_kind(kind)
        for kind in MESSAGE_KINDS
    }
    kinds = F.array_compact(F.array(*[F.when(is_one, kind) for kind, is_one in conditions.items()]))
    return _first(
        messages.select(*MESSAGE, F.explode(kinds).alias("kind")), "producer", "sequence", "sent_ns"
    )


def _after_what(verify: DataFrame, accused: DataFrame) -> DataFrame:
    """Put beside rows read back what was read just before of their producer, in their partition: `previous`.

    In the trials that hold anything twice only: it costs a sort of their rows. Null in the others.
    """
    duplicate_trials = F.broadcast(accused.where("kind = 'duplicate'").select("trial").distinct())
    places = Window.partitionBy(*LANE).orderBy(*POSITION, "received_ns")
    previous = F.lag(F.struct("sequence", *POSITION)).over(places)
    reads_with_previous = verify.join(duplicate_trials, "trial", "left_semi").withColumn("previous", previous)
    return reads_with_previous.unionByName(
        verify.join(duplicate_trials, "trial", "left_anti"), allowMissingColumns=True
    )


def _copies(verify: DataFrame, accused: DataFrame) -> DataFrame:
    """Find every row read back of the accused, numbered by place; `first` is where the first copy lies."""
    places = Window.partitionBy(*MESSAGE).orderBy(*_PLACE, "received_ns")
    nullable = [_or_null(name).alias(name) for name in POSITION]
    return (
        verify.join(accused.select(*MESSAGE).distinct(), [*MESSAGE], "left_semi")
        .withColumn("copy", F.row_number().over(places))
        .withColumn("first", F.first(F.struct(*_PLACE)).over(places))
        .select(*MESSAGE, "copy", "previous", "first", F.struct("partition", *nullable).alias("found_at"))
    )


def _is_shown_copy() -> Column:
    """Whether a copy is shown: those beyond the first, all of a stranger, else the first or none at all."""
    kind, copy = F.col("kind"), F.col("copy")
    return (
        F.when(kind == "duplicate", copy > 1)
        .when(kind == "foreign", copy >= 1)
        .otherwise(copy.isNull() | (copy == 1))
    )


def _first(rows: DataFrame, *order: str) -> DataFrame:
    within = Window.partitionBy("trial", "kind").orderBy(*order)
    return rows.withColumn("nth", F.row_number().over(within)).where(F.col("nth") <= LIMIT)


def _or_null(name: str) -> Column:
    return F.nullif(F.col(name), F.lit(-1))


def _columns(rows: DataFrame) -> DataFrame:
    nullable = [_or_null(name).alias(name) for name in POSITION]
    return rows.select(
        "trial",
        "kind",
        "producer",
        "sequence",
        "partition",
        *nullable,
        *[_or_null(f"previous.{name}").alias(f"previous_{name}") for name in ("sequence", *POSITION)],
        *[_or_null(f"first.{name}").alias(f"first_{name}") for name in _PLACE],
        "error",
        "nth",
    )
