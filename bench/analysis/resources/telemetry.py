"""What servers, machine and client did: rates and levels over a trial's time, and over its window or slices."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.window import Windows
from bench.columns import FOOTPRINT, STORED
from bench.model import MEMBER, NANOS
from bench.systems.processing import PROCESSOR
from bench.systems.server_metrics import COUNTERS, GAUGES

_LATE_NS = NANOS // 2
"""A window that messages end is looked at once more so soon after its end."""
_EARLY_NS, _AT_ONCE_NS, _BEHIND_NS = 700_000_000, 300_000_000, NANOS
"""Servers are asked one after the other, so long before the window at most, or from its start on for so long; and once
it is over, so much later at most. No load comes after it: what they tell then they had done by its end."""
_ROUNDED = 1e-9
"""A sum that a server tells as a mean and a number may be so much smaller than the one before, as a share of it."""

_SERVER_METRICS = (*COUNTERS, *GAUGES)

CLIENTS = ("client", PROCESSOR, MEMBER)
"""Roles of what writes and reads: load processes, and an application between two topics."""
MACHINE = "machine"
NO_SERVERS = (MACHINE, "suite", *CLIENTS)
_MACHINES, _PROCESSES = "cpu_busy_s", "cpu_s"
"""Whoever is the machine, a counter that it is seen for in every look, and one that each process is."""


class NodeFigure(NamedTuple):
    """A figure of one node over a trial's window, or all its slices: a counter's growth per second, a level's mean."""

    trial: int
    node: str
    role: str
    metric: str
    value: float


def steps(samples: DataFrame, windows: Windows) -> DataFrame:
    """Give each sample what had happened since the one before.

    Columns: trial, node, role, metric, counter; at_ns (since the trial's first send); level (as sampled); grown and
    took_ns (null for the first, and for levels); in_window. A counter that has fallen began anew, with its process.
    What servers were asked for counts from the last answer shortly before the window, or at its start.

    A counter's growth is taken between looks of the same slice only: between two slices the neighbours ran. All that is
    between a slice's looks is in the window. It counts as grown from when the slice's load began until its last send
    had ended: the looks are before and after that, when nobody has work. What was seen around held rates is left out
    (`held_cpu`).
    """
    by_metric = Window.partitionBy("trial", "slice", "node", "metric")
    in_order = by_metric.orderBy("at_ns")
    last, last_ns = F.lag("value").over(in_order), F.lag("at_ns").over(in_order)
    value, at_ns = F.col("value"), F.col("at_ns")
    grown = F.when(value >= last * (1 - _ROUNDED), F.greatest(value - last, F.lit(0.0))).otherwise(value)
    begun_ns = F.when(F.col("counter"), last_ns).otherwise(at_ns)
    start_ns, end_ns, is_scraped = F.col("start_ns"), F.col("end_ns"), F.col("metric").isin(*_SERVER_METRICS)
    opening = F.when((at_ns >= start_ns - _EARLY_NS) & (at_ns <= start_ns + _AT_ONCE_NS), at_ns)
    from_ns = F.when(is_scraped, F.coalesce(F.max(opening).over(by_metric), start_ns)).otherwise(start_ns)
    late_ns = F.when(is_scraped, F.lit(_BEHIND_NS)).when(F.col("timed"), F.lit(0)).otherwise(F.lit(_LATE_NS))
    inside = (begun_ns >= from_ns) & (begun_ns < end_ns) & (at_ns <= end_ns + late_ns)
    sliced = F.col("slices").isNotNull()
    loaded = (is_scraped | sliced) & (last_ns < end_ns)
    until_ns = (
        F.when(loaded & sliced, F.least(at_ns, F.col("over_ns")))
        .when(loaded, F.least(at_ns, end_ns))
        .otherwise(at_ns)
    )
    since_ns = F.when(loaded & sliced, F.greatest(last_ns, F.col("begun_ns"))).otherwise(last_ns)
    counted = windows.over(samples).where(F.col("first_ns").isNotNull())
    return counted.select(
        "trial",
        "node",
        "role",
        "metric",
        "counter",
        (at_ns - F.col("first_ns")).alias("at_ns"),
        value.alias("level"),
        F.when(F.col("counter") & last.isNotNull(), grown).alias("grown"),
        F.when(F.col("counter"), until_ns - since_ns).alias("took_ns"),
        (sliced | F.coalesce(inside, F.lit(False))).alias("in_window"),  # noqa: FBT003 - Spark's way to write false
    )


def counter_growth(stepped: DataFrame, metric: str) -> DataFrame:
    """Give what a counter of each server grew by between two looks: rows of `steps`."""
    return stepped.where((F.col("metric") == metric) & ~F.col("role").isin(*NO_SERVERS))


def node_usage(stepped: DataFrame) -> list[NodeFigure]:
    """Add up what `steps` gave inside each trial's window, or in all its slices.

    A process that lived for a part of it has its growth divided by the whole all the same, which is the time for which
    the machine was seen. What a server was asked for counts for all the time that it lived, also if it told for less.
    """
    rows = (
        stepped.where("in_window")
        .groupBy("trial", "node", "role", "metric")
        .agg(
            F.first("counter").alias("counter"),
            (F.sum("grown") * NANOS).alias("grown"),
            F.sum("took_ns").alias("took_ns"),
            F.avg("level").alias("level"),
        )
        .collect()
    )
    seen_ns = {(row["trial"], row["node"], row["metric"]): row["took_ns"] or 0 for row in rows}
    usage = []
    for row in rows:
        trial, node, told_ns = row["trial"], row["node"], row["took_ns"] or 0
        whole_ns = seen_ns.get((trial, MACHINE, _MACHINES), told_ns)
        lived_ns = seen_ns.get((trial, node, _PROCESSES), whole_ns)
        if row["metric"] in COUNTERS and lived_ns:
            whole_ns = told_ns * whole_ns / lived_ns
        rate = row["grown"] / whole_ns if row["grown"] is not None and whole_ns else None
        value = rate if row["counter"] else row["level"]
        if value is not None:
            usage.append(NodeFigure(trial, node, row["role"], row["metric"], value))
    return usage


def levels(samples: DataFrame) -> dict[int, dict[str, int]]:
    """Return what all servers of a trial had together: the columns STORED and FOOTPRINT, by trial.

    Files on disk are those of servers that keep messages. Null where nobody looked.
    """
    names = ("stored_bytes", "rss_bytes", "open_files")
    totals = (
        samples.where(F.col("metric").isin(*names) & ~F.col("role").isin(*NO_SERVERS))
        .groupBy("trial", "at_ns")
        .pivot("metric", list(names))
        .agg(F.sum("value").cast("long"))
    )
    last = F.max_by("stored_bytes", F.when(F.col("stored_bytes").isNotNull(), F.col("at_ns")))
    figures = (F.max("stored_bytes"), last, F.max("rss_bytes"), F.max("open_files"))
    columns = (*STORED, *FOOTPRINT)
    named = [figure.alias(name) for name, figure in zip(columns, figures, strict=True)]
    rows = totals.groupBy("trial").agg(*named).collect()
    return {row["trial"]: {name: row[name] for name in columns} for row in rows}


def over_time(stepped: DataFrame) -> DataFrame:
    """Give the table `telemetry`: counters as rates a second since the sample before, levels as they were."""
    rate = F.col("grown") * NANOS / F.nullif(F.col("took_ns"), F.lit(0))
    return (
        stepped.select(
            "trial",
            "at_ns",
            "node",
            "role",
            "metric",
            F.when(F.col("counter"), rate).otherwise(F.col("level")).alias("value"),
        )
        .where(F.col("value").isNotNull())
        .orderBy("trial", "at_ns", "node", "metric")
    )
