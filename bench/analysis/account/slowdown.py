"""What a step beside the load did to it: 99th percentiles before the step and meanwhile."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.log import EventLog
from bench.columns import SLOWED
from bench.model import Outcome

Row = dict[str, object]

_LEAST = 100
"""Of fewer messages there is no 99th percentile."""


def slowdowns(log: EventLog, messages: DataFrame, spans: DataFrame) -> dict[tuple[int, int], Row]:
    """Return by trial and step how long messages took before a step and during it, and how many times as long.

    Of the acknowledged messages sent in the window: from when they were due to the acknowledgement, and from when they
    were sent to the first live consumer. `messages` are those of delivery.py. `spans` has trial and step; start_ns and
    end_ns of the window; asked_ns, up to which is before; begun_ns and last_ns, between which is during.
    """
    sends = log.sends.where(F.col("outcome") == Outcome.OK.label).select(
        "trial", "sent_ns", (F.col("done_ns") - F.coalesce("due_ns", "sent_ns")).alias("took_ns")
    )
    deliveries = messages.where((F.col("outcome") == Outcome.OK.value) & F.col("live_ns").isNotNull()).select(
        "trial", "sent_ns", (F.col("live_ns") - F.col("sent_ns")).alias("took_ns")
    )
    rows_by_step: dict[tuple[int, int], Row] = {}
    for name, frame in zip(SLOWED, (sends, deliveries), strict=True):
        for row in _percentiles(frame, F.broadcast(spans)).collect():
            before_ns, during = row["before"], row["during"]
            comparable = before_ns is not None and during is not None
            rows_by_step.setdefault((row["trial"], row["step"]), {}).update(
                {
                    f"{name}_p99_before_ns": round(before_ns) if comparable else None,
                    f"{name}_p99_during_ns": round(during) if comparable else None,
                    f"{name}_slowdown": during / before_ns if comparable else None,
                }
            )
    return rows_by_step


def _percentiles(durations: DataFrame, spans: DataFrame) -> DataFrame:
    sent, asked_ns = F.col("sent_ns"), F.col("asked_ns")
    took_before_ns = F.when((sent >= F.col("start_ns")) & (sent < asked_ns), F.col("took_ns"))
    during = F.when((sent >= F.col("begun_ns")) & (sent < F.least("last_ns", "end_ns")), F.col("took_ns"))
    times = durations.join(spans, "trial").select(
        "trial", "step", took_before_ns.alias("before"), during.alias("during")
    )
    return times.groupBy("trial", "step").agg(
        *[
            F.when(
                F.count(name) >= _LEAST, F.expr(f"percentile_disc(0.99) WITHIN GROUP (ORDER BY {name})")
            ).alias(name)
            for name in ("before", "during")
        ]
    )
