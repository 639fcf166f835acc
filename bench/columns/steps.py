"""The tables of steps: `faults`, `served`, `readings` and `transfers`."""

from __future__ import annotations

from bench.columns.column import Kind, ResultColumn, ResultTable, columns, names

SLOWED = ("send", "e2e")
PHASES = ("before", "away", "recovery")
"""Of a fault, for how long sends took in them: before it, while the node was away, while it caught up."""


def _slowdowns(times: str, slowdown: str, *, required: bool) -> tuple[ResultColumn, ...]:
    """Declare what something beside the load does to sends and to live consumers."""
    p99s = [f"{name}_p99_{phase}_ns" for name in SLOWED for phase in ("before", "during")]
    slowdowns = [f"{name}_slowdown" for name in SLOWED]
    return (
        *columns(" ".join(p99s), Kind.LONG, times, unit="ns", required=required),
        *columns(" ".join(slowdowns), Kind.REAL, slowdown, unit="1", required=required),
    )


_SERVED_SINCE = (
    "How much of it was left when another node, or one again, was found to serve that partition, to about a second; "
    "null where none was within it."
)
_DIPS = "See [faults](method/faults.md); a depth is from 0 to 1."
_DIP_COLUMNS = "dip_depth, dip_messages, back_ns"
_LIVE_DIPS = "The same of what live consumers received."
_LIVE_DIP_COLUMNS = "live_rate_before, live_dip_depth, live_dip_messages, live_back_ns"

FAULTS = ResultTable(
    "faults",
    "a row a fault and trial",
    (
        *columns("trial", Kind.INT, "Its number.", required=True),
        *columns("fault kind nodes", Kind.TEXT, "Its name, its kind, and whom it struck.", required=True),
        *columns("proven", Kind.BOOL, "There is evidence that it happened.", required=True),
        *columns(
            "asked_ns effect_ns healed_ns",
            Kind.LONG,
            "When it was asked for, had its effect and was healed, from the trial's first send; null where it was not.",
            unit="ns",
            required=True,
        ),
        *columns(
            "first_failed_ns",
            Kind.LONG,
            "From when it was asked for to the end of the first send that failed or stayed unknown.",
            unit="ns",
            required=True,
        ),
        *columns(
            "first_acked_ns",
            Kind.LONG,
            "From when it was asked for until every partition had acknowledged a message sent since.",
            unit="ns",
            required=True,
        ),
        *columns(
            "first_received_ns",
            Kind.LONG,
            "From when it was asked for until every partition had given a live consumer a message sent since.",
            unit="ns",
            required=True,
        ),
        *columns(
            "ack_gap_ns",
            Kind.LONG,
            "The longest time that any one partition had no acknowledgement, of those that ended after the fault was "
            "asked for and began before the next one was, and only until then.",
            unit="ns",
            required=True,
        ),
        *columns("ack_gap_served_ns", Kind.LONG, _SERVED_SINCE, unit="ns"),
        *columns(
            "ack_gap_ended",
            Kind.TEXT,
            "What may have ended it, as unavailable_ended in `trials`.",
            required=True,
        ),
        *columns(
            "live_gap_ns",
            Kind.LONG,
            "As ack_gap_ns, of times without a message at the live consumers.",
            unit="ns",
            required=True,
        ),
        *columns("live_gap_served_ns", Kind.LONG, _SERVED_SINCE, unit="ns"),
        *columns("live_gap_ended", Kind.TEXT, "What may have ended it.", required=True),
        *columns(
            "others_gap_ns",
            Kind.LONG,
            "The longest time, counted in the same way, in which no partition had an acknowledgement of those that "
            "nodes served which the fault did not strike; null where there were none.",
            unit="ns",
        ),
        *columns(
            "share_ns",
            Kind.LONG,
            "Of a step that started nodes: from when it was asked for until each of them took in half of the mean of "
            "its role's nodes, as servers report every few seconds.",
            unit="ns",
        ),
        *columns(
            "first_message_ns",
            Kind.LONG,
            "Of a step that started members of a consumer group: from when it was asked for until each of them had "
            "received a message.",
            unit="ns",
        ),
        *columns("rate_before", Kind.REAL, "Acknowledgements.", unit="messages/s", required=True),
        *columns("dip_depth", Kind.REAL, _DIPS, unit="1", required=True, heading=_DIP_COLUMNS),
        *columns("dip_messages", Kind.LONG, _DIPS, required=True, heading=_DIP_COLUMNS),
        *columns("back_ns", Kind.LONG, _DIPS, unit="ns", required=True, heading=_DIP_COLUMNS),
        *columns("live_rate_before", Kind.REAL, _LIVE_DIPS, unit="messages/s", heading=_LIVE_DIP_COLUMNS),
        *columns("live_dip_depth", Kind.REAL, _LIVE_DIPS, unit="1", required=True, heading=_LIVE_DIP_COLUMNS),
        *columns("live_dip_messages", Kind.LONG, _LIVE_DIPS, required=True, heading=_LIVE_DIP_COLUMNS),
        *columns("live_back_ns", Kind.LONG, _LIVE_DIPS, unit="ns", required=True, heading=_LIVE_DIP_COLUMNS),
        *columns(
            "copies_back_ns",
            Kind.LONG,
            "From when it was asked for until every copy that it took away was there again.",
            unit="ns",
            required=True,
        ),
        *columns(
            "copies_back_how",
            Kind.TEXT,
            "`node back` or `copied`; on Pulsar, of faults that take no node away, `copied` or null.",
            required=True,
        ),
        *columns(
            " ".join(f"p99_{phase}_ns" for phase in PHASES),
            Kind.LONG,
            "The 99th percentile of the response time of what was due before the fault, while the node was away, and "
            "while it caught up: [faults](method/faults.md).",
            unit="ns",
        ),
    ),
    notes="All of them from rate_before to live_back_ns are null for a fault that struck before the rate was back from "
    "an earlier one. Null means “cannot be said”: the load was over too soon, or it never came back.",
)
FAULT_METRICS = (
    *("first_failed_ns", "first_acked_ns", "first_received_ns", "ack_gap_ns", "live_gap_ns"),
    *("others_gap_ns", "share_ns", "first_message_ns"),
    *("rate_before", "dip_depth", "dip_messages", "back_ns", "copies_back_ns"),
    *(f"p99_{phase}_ns" for phase in PHASES),
)
"""Columns of `faults` that an expectation about one `fault` may speak of."""

SERVED = ResultTable(
    "served",
    "who served and kept each partition",
    (
        *columns("trial", Kind.INT, "Its number."),
        *columns("at_ns", Kind.LONG, "When, from the trial's first send.", unit="ns"),
        *columns("partition", Kind.INT, "The partition."),
        *columns("served_by", Kind.TEXT, "Its leader (Kafka, NATS) or owner (Pulsar); null for nobody."),
        *columns("in_sync", Kind.TEXT, "Kafka: the replicas in sync."),
        *columns(
            "epoch high_watermark",
            Kind.LONG,
            "Kafka. A high watermark that alone changed makes no row.",
        ),
        *columns(
            "segments",
            Kind.TEXT,
            "Pulsar: the partition's ledgers, each with its first entries and bookies: `12: 0 bookie-1/bookie-2, 4711 "
            "bookie-1/bookie-3`.",
        ),
    ),
    introduction="Of trials with faults, a row a change and partition, as the servers were sampled once a second.",
)

_READ_SLOWDOWNS = _slowdowns(
    "Of the acknowledged messages that were sent in the window before the step, and while it read: the 99th percentile "
    "of the time from when they were due to the acknowledgement, and from when they were sent to the first live "
    "consumer; null where either is of fewer than 100 messages.",
    "The one while it read over the one before.",
    required=False,
)
READINGS = ResultTable(
    "readings",
    "what readers of steps had",
    (
        *columns("trial", Kind.INT, "Its number.", required=True),
        *columns("reading", Kind.TEXT, "The step's name.", required=True),
        *columns("group", Kind.TEXT, "The consumer group; null for a reader.", required=True),
        *columns("asked_ns", Kind.LONG, "When the step began.", unit="ns", required=True),
        *columns("received", Kind.LONG, "All messages that came, copies too.", required=True),
        *columns("acked", Kind.LONG, "Messages acknowledged before the step began.", required=True),
        *columns(
            "found missing", Kind.LONG, "How many of these it read, and how many it did not.", required=True
        ),
        *columns(
            "missing_first_ns missing_last_ns",
            Kind.LONG,
            "When the first and the last missing message had been sent.",
            unit="ns",
            required=True,
        ),
        *_READ_SLOWDOWNS,
        *columns(
            "disk_read_bytes",
            Kind.LONG,
            "What all servers read from disk between its first message and its last, from looks that overlap that "
            "time; null without any.",
            unit="bytes",
        ),
        *columns(
            "reason",
            Kind.TEXT,
            "Why it ended before there was nothing left to read; null where it did not.",
            required=True,
        ),
    ),
    introduction="A row for each trial and each of its steps that reads (`read: earliest`, `consume`). Times count "
    "from the trial's first send.",
    added_later=True,
)
READING_METRICS = ("found", "missing", *names(_READ_SLOWDOWNS), "disk_read_bytes")
"""Columns of `readings` that an expectation about one `reading` may speak of."""

_TRANSFER_SLOWDOWN = "As in `readings`; before is before the trial's first step."
_TRANSFERRED = (
    *columns("done_ns", Kind.LONG, "How long it took; null where it was not done.", unit="ns", required=True),
    *columns(
        "copied_bytes",
        Kind.LONG,
        "What came to all nodes that keep messages meanwhile, beyond the undisturbed rate; null where that was not "
        "observed.",
        unit="bytes",
        required=True,
    ),
    *_slowdowns(_TRANSFER_SLOWDOWN, _TRANSFER_SLOWDOWN, required=True),
)
TRANSFERS = ResultTable(
    "transfers",
    "what steps that move stored messages took",
    (
        *columns("trial", Kind.INT, "Its number.", required=True),
        *columns(
            "transfer kind nodes",
            Kind.TEXT,
            "The step's name, `drain` or `rebalance`, and the drained node.",
            required=True,
        ),
        *columns(
            "asked_ns",
            Kind.LONG,
            "When the step began, from the trial's first send.",
            unit="ns",
            required=True,
        ),
        *_TRANSFERRED,
    ),
    introduction="A row for each trial and each of its steps `drain` and `rebalance`; see [faults](method/faults.md), "
    "what moved stored messages.",
    added_later=True,
)
TRANSFER_METRICS = names(_TRANSFERRED)
"""Columns of `transfers` that an expectation about one `transfer` may speak of."""
