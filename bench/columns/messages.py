"""The tables of single messages and consumers: `errors`, `messages` and `consumers`."""

from __future__ import annotations

from bench.columns.column import Kind, ResultTable, columns
from bench.columns.trials import CONSUMER_COUNTERS

ERRORS = ResultTable(
    "errors",
    "what sends ended with, the most frequent of a trial first",
    (
        *columns("trial", Kind.INT, "Its number.", required=True),
        *columns("outcome", Kind.TEXT, "`fail` or `unknown`.", required=True),
        *columns("error", Kind.TEXT, "As in the event log.", required=True),
        *columns("count", Kind.LONG, "Sends that ended so.", required=True),
        *columns("present", Kind.LONG, "How many of them the full read had."),
    ),
)

_SENT = "Of the send or, where it was received, of that row."
_SENT_COLUMNS = "producer, sequence, partition, ledger, entry, batch_index"
_PREVIOUS = (
    "`out_of_order`: the largest sequence before it in its partition and where that lies. `duplicate`, a row a copy "
    "beyond the first: what was read just before the copy of its producer in its partition. Else null."
)
_PREVIOUS_COLUMNS = "previous_sequence, previous_ledger, previous_entry, previous_batch_index"
_FIRST = "`duplicate`: where the first copy lies; else null."
_FIRST_COLUMNS = "first_partition, first_ledger, first_entry, first_batch_index"

MESSAGES = ResultTable(
    "messages",
    "the offending ones",
    (
        *columns("trial", Kind.INT, "Its number.", required=True),
        *columns(
            "kind",
            Kind.TEXT,
            "`lost`, `duplicate`, `out_of_order`, `fail_present`, `unknown_present`, `unknown_absent` or `foreign`.",
            required=True,
        ),
        *columns("producer", Kind.INT, _SENT, required=True, heading=_SENT_COLUMNS),
        *columns("sequence", Kind.LONG, _SENT, required=True, heading=_SENT_COLUMNS),
        *columns("partition", Kind.INT, _SENT, required=True, heading=_SENT_COLUMNS),
        *columns("ledger entry", Kind.LONG, _SENT, required=True, heading=_SENT_COLUMNS),
        *columns("batch_index", Kind.INT, _SENT, required=True, heading=_SENT_COLUMNS),
        *columns(
            "previous_sequence previous_ledger previous_entry",
            Kind.LONG,
            _PREVIOUS,
            heading=_PREVIOUS_COLUMNS,
        ),
        *columns("previous_batch_index", Kind.INT, _PREVIOUS, heading=_PREVIOUS_COLUMNS),
        *columns("first_partition", Kind.INT, _FIRST, heading=_FIRST_COLUMNS),
        *columns("first_ledger first_entry", Kind.LONG, _FIRST, heading=_FIRST_COLUMNS),
        *columns("first_batch_index", Kind.INT, _FIRST, heading=_FIRST_COLUMNS),
        *columns("error", Kind.TEXT, "As in the event log."),
    ),
    notes="At most 10,000 rows a trial and kind are listed; the counters in `trials` are always whole.",
)

CONSUMERS = ResultTable(
    "consumers",
    "what live consumers saw",
    (
        *columns("trial consumer partition", Kind.INT, "Numbers.", required=True),
        *columns(
            " ".join(CONSUMER_COUNTERS), Kind.LONG, "As in `trials`, where their sums stand.", required=True
        ),
    ),
    introduction="A row a trial, live consumer and partition in which anything was counted. A consumer and partition "
    "without a row has 0 in all of them.",
    added_later=True,
)
