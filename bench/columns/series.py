"""The tables of parts of a trial: `timeline`, `slices`, `telemetry`, `use` and `percentiles`."""

from __future__ import annotations

from bench.columns.column import Kind, ResultTable, columns

TIMELINE = ResultTable(
    "timeline",
    "a row a trial and second",
    (
        *columns(
            "trial second",
            Kind.INT,
            "`second` counts from 0, from the first send of the trial.",
            required=True,
        ),
        *columns("in_window", Kind.BOOL, "The whole second is inside the window.", required=True),
        *columns("acked failed unknown", Kind.LONG, "By done_ns; without done_ns by sent_ns.", required=True),
        *columns("received", Kind.LONG, "Rows of the live stage."),
        *columns(
            "service_p50_ns service_p99_ns service_max_ns",
            Kind.LONG,
            "Of acknowledged sends by sent_ns.",
            unit="ns",
        ),
    ),
    introduction="Contiguous trials only; the table `slices` takes its place for the others. Every second up to a "
    "trial's last is there, also those in which nothing happened.",
)

SLICES = ResultTable(
    "slices",
    "a row a slice of a sliced trial",
    (
        *columns(
            "trial slice cycle",
            Kind.INT,
            "Numbers; slices count from 0 within the trial, in the order run.",
            required=True,
        ),
        *columns(
            "start_ns",
            Kind.LONG,
            "When the part that counts began, since the load of the earliest slice of all trials on the same cluster "
            "start began (`logs` in trial.json).",
            unit="ns",
            required=True,
        ),
        *columns("length_ns", Kind.LONG, "How long the part that counts is.", unit="ns", required=True),
        *columns(
            "acked",
            Kind.LONG,
            "Acknowledged sends of this slice with done_ns inside that part.",
            required=True,
        ),
        *columns(
            "throughput_msgs_per_s", Kind.REAL, "acked over length_ns.", unit="messages/s", required=True
        ),
        *columns(
            "service_p50_ns service_p99_ns",
            Kind.LONG,
            "Exact quantiles of done - sent, of acknowledged sends of this slice with sent_ns inside that part; null "
            "without any.",
            unit="ns",
            required=True,
        ),
        *columns(
            "response_p99_ns",
            Kind.LONG,
            "The same of done - due; null in a closed loop, and where it falls among sends that were due and never "
            "made.",
            unit="ns",
            required=True,
        ),
    ),
    added_later=True,
)

TELEMETRY = ResultTable(
    "telemetry",
    "what servers, client and machine did",
    (
        *columns("trial", Kind.INT, "Its number.", required=True),
        *columns("at_ns", Kind.LONG, "Since the trial's first send.", unit="ns", required=True),
        *columns("node role metric", Kind.TEXT, "As sampled ([event log](event-log.md)).", required=True),
        *columns(
            "value",
            Kind.REAL,
            "Of a counter the rate a second since the sample before, 0 and on from there where its process began "
            "anew. In a sliced trial a rate is between two samples of one slice.",
            required=True,
        ),
    ),
)

USE = ResultTable(
    "use",
    "what the servers of a role used",
    (
        *columns("trial", Kind.INT, "Its number.", required=True),
        *columns("role", Kind.TEXT, "The servers' role.", required=True),
        *columns("nodes", Kind.INT, "Servers that were looked at.", required=True),
        *columns("metric", Kind.TEXT, "As sampled ([event log](event-log.md)).", required=True),
        *columns(
            "value",
            Kind.REAL,
            "Of a counter its growth a second, of a level its mean; added up over these servers. So `cpu_s` is in "
            "cores, `disk_write_bytes` in bytes a second.",
            required=True,
        ),
    ),
    introduction="A row a trial, role and metric, over its window or slices.",
)

PERCENTILES = ResultTable(
    "percentiles",
    "the latency curves",
    (
        *columns("trial", Kind.INT, "Its number.", required=True),
        *columns("measure", Kind.TEXT, "`service`, `response`, `queue` or `e2e`.", required=True),
        *columns(
            "quantile",
            Kind.REAL,
            "0, 0.01 … 0.99, 0.991 … 0.999, 0.9991 … 0.9999, 0.99999, 1. One nearer to 0 or 1 than 1 / count, but for "
            "these, is left out: there the sample tells no quantile from its extremes. So is one that falls among "
            "what never came ([latency](method/latency.md)).",
            required=True,
        ),
        *columns("value_ns", Kind.LONG, "The time.", unit="ns", required=True),
    ),
)
