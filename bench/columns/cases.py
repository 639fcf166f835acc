"""The tables of cases: `cases`, and `ratios` between them."""

from __future__ import annotations

from bench.columns.column import Kind, ResultColumn, ResultTable, columns
from bench.columns.trials import COUNTERS, RATES, TIMES, TRIALS, USAGE

ENDS = ("low", "high", "ci_low", "ci_high")
"""What stands beside a case's middle, as ends of columns: range and interval."""

_REQUIRED_FIGURES = {
    *("throughput_msgs_per_s", "service_p50_ns", "service_p99_ns", "service_p99_9_ns", "service_max_ns"),
    *("e2e_p50_ns", "e2e_p99_ns"),
    *(f"{figure}_{end}" for figure in ("throughput_msgs_per_s", "service_p99_ns") for end in ENDS),
}
_REQUIRED_COUNTERS = {
    *("sent", "acked", "failed", "unknown", "due_unsent", "lost", "unread", "duplicates", "out_of_order"),
    *("fail_present", "unknown_present", "unknown_absent", "foreign"),
}
_MEANINGS = {
    "": "The middle over valid trials: the geometric mean; where something broke, the median.",
    "low": "The range over trials.",
    "ci_low": "The 95 % interval. Null with too few valid trials ([statistics](method/statistics.md)), and where a "
    "trial has a time without an end.",
}
_HEADINGS = {
    "": "each rate and time of `trials`, under the same name",
    "low": "`<name>_low`, `<name>_high`",
    "ci_low": "`<name>_ci_low`, `<name>_ci_high`",
}
_DECLARED = {column.name: column for column in TRIALS.columns}


def _figure(name: str) -> tuple[ResultColumn, ...]:
    """Declare a rate or time of `trials` with its ends."""
    figure = _DECLARED[name]
    groups = {name: "", f"{name}_low": "low", f"{name}_high": "low"}
    groups |= {f"{name}_ci_low": "ci_low", f"{name}_ci_high": "ci_low"}
    return tuple(
        ResultColumn(
            column, figure.kind, _MEANINGS[group], figure.unit, _HEADINGS[group], column in _REQUIRED_FIGURES
        )
        for column, group in groups.items()
    )


CASES = ResultTable(
    "cases",
    "a row a case, in the scenario's order",
    (
        *columns("system case", Kind.TEXT, "Names.", required=True),
        *columns("rounds trials", Kind.INT, "Valid trials; all trials.", required=True),
        *(column for name in (*RATES, *TIMES) for column in _figure(name)),
        *(
            column
            for name in (*COUNTERS, "due_unsent")
            for column in columns(
                name,
                Kind.LONG,
                "The sum over all valid trials. Null where one of them is null, or there are none.",
                required=name in _REQUIRED_COUNTERS,
                heading="each counter (sent … read_then_gone), due_unsent",
            )
        ),
        *columns("lost_at_least", Kind.LONG, "What is known of `lost` where that sum is null."),
        *(
            column
            for name in USAGE
            for column in columns(
                name,
                Kind.REAL,
                "The median over valid trials.",
                unit=_DECLARED[name].unit,
                required=True,
                heading=", ".join(USAGE),
            )
        ),
        *columns(
            "bottleneck",
            Kind.TEXT,
            "The trials' verdict where they agree, else `cpu 4, client 1`.",
            required=True,
        ),
        *columns(
            "guarantee",
            Kind.TEXT,
            "What this configuration promises of an acknowledged message, and whether writes go on with nodes gone "
            "([guarantees](method/guarantees.md)). Null where none is stated.",
            required=True,
        ),
    ),
    introduction="After `case` stand the swept settings, as in `trials`.",
    more_after="case",
)

RATIOS = ResultTable(
    "ratios",
    "each case over its system's baseline",
    (
        *columns("system case", Kind.TEXT, "Names.", required=True),
        *columns("baseline", Kind.TEXT, "The case's name that manifest.json gives.", required=True),
        *columns(
            "metric",
            Kind.TEXT,
            "throughput_msgs_per_s in closed loops; service_p50_ns, service_p99_ns; response_p50_ns and "
            "response_p99_ns in open ones; e2e_p50_ns; capacity_msgs_per_s and consumed_msgs_per_s where they were "
            "measured.",
            required=True,
        ),
        *columns("ratio", Kind.REAL, "The case's value over its baseline's.", required=True),
        *columns(
            "low high",
            Kind.REAL,
            "Its 95 % interval; null in one round, or where a value is zero or never came.",
            required=True,
        ),
        *columns("rounds", Kind.INT, "Their number.", required=True),
    ),
    introduction="Of runs in which nothing was broken, a row a case (but the baseline) and metric.",
    added_later=True,
)
