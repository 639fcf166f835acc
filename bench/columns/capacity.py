"""The tables of capacity and cost: `holds`, `capacities`, `predictions` and `costs`."""

from __future__ import annotations

from bench.columns.column import Kind, ResultTable, columns

HOLDS = ResultTable(
    "holds",
    "a row a held rate",
    (
        *columns("trial slice", Kind.INT, "Numbers, as in the event log.", required=True),
        *columns("rate", Kind.REAL, "The rate that was held.", unit="messages/s", required=True),
        *columns("seconds", Kind.REAL, "How long of it counted.", unit="s", required=True),
        *columns("confirms", Kind.BOOL, "The result rests on this hold.", required=True),
        *columns(
            "due sent failed",
            Kind.LONG,
            "Messages due in these seconds; sent ones; those that ended without an acknowledgement.",
            required=True,
        ),
        *columns(
            "late",
            Kind.LONG,
            "Without an acknowledgement within the service level's response time from when they were due; never sent "
            "ones are late.",
            required=True,
        ),
        *columns(
            "late_end_to_end",
            Kind.LONG,
            "Not with a consumer within the service level's end-to-end time from when they were due.",
            required=True,
        ),
        *columns(
            "response_p50_ns response_p99_ns",
            Kind.LONG,
            "Exact quantiles of done - due over all messages due in these seconds; null where the quantile falls among "
            "messages that failed or were never sent.",
            unit="ns",
            required=True,
        ),
        *columns(
            "end_to_end_p50_ns end_to_end_p99_ns",
            Kind.LONG,
            "The same of received - due, at the consumer that had the message first; null where it falls among "
            "messages that no consumer had.",
            unit="ns",
            required=True,
        ),
        *columns(
            "producers_growth",
            Kind.REAL,
            "By how much what is due and not acknowledged grows.",
            unit="messages/s",
            required=True,
        ),
        *columns(
            "consumers_growth",
            Kind.REAL,
            "By how much what is acknowledged and not received grows.",
            unit="messages/s",
            required=True,
        ),
        *columns(
            "copies_missing",
            Kind.BOOL,
            "At its end the system knew of copies that were not there; null for a hold that does not confirm, and in "
            "results of older versions.",
        ),
        *columns(
            "late_copies_share",
            Kind.REAL,
            "The share of copies that the slowest storage node wrote late: after the hold's end plus the limit of the "
            "response time. Null where nobody counted: systems other than Pulsar, external clusters, holds that do not "
            "confirm, results of older versions.",
            unit="1",
        ),
        *columns("client_cpu_share", Kind.REAL, "Of a core, of the load process.", unit="1", required=True),
        *columns(
            "verdict",
            Kind.TEXT,
            "`passed`, `failed`, `undecided` or `limited by client`: of this hold together with those before it at the "
            "same rate.",
            required=True,
        ),
        *columns("reason", Kind.TEXT, "The limit that decided.", required=True),
    ),
    introduction="Of trials that searched for their capacity, in the order run. After `client_cpu_share` stands "
    "`<role>_cpu_share` for each role that works for messages (`broker`, `bookie`): of the CPU quotas (`node_size`) of "
    "all its nodes together, the share that they used. It is null without telemetry, without quotas, and in results of "
    "older versions.",
    more_after="client_cpu_share",
    added_later=True,
)

CAPACITIES = ResultTable(
    "capacities",
    "a row a case that searched",
    (
        *columns("system case", Kind.TEXT, "Names.", required=True),
        *columns("starts", Kind.INT, "Searches of valid trials, one a cluster start.", required=True),
        *columns(
            "passed_rate",
            Kind.REAL,
            "The median over starts of the highest rate that passed a long hold; 0 where most have none.",
            unit="messages/s",
            required=True,
        ),
        *columns(
            "failed_rate",
            Kind.REAL,
            "The same of the lowest rate that failed one; infinite where most have none.",
            unit="messages/s",
            required=True,
        ),
        *columns(
            "low high",
            Kind.REAL,
            "The 95 % interval of the capacity of a typical start; null below three starts.",
            unit="messages/s",
            required=True,
        ),
        *columns(
            "limited_by_client non_monotone",
            Kind.INT,
            "Starts of which that is so ([capacity](method/capacity.md)).",
            required=True,
        ),
        *columns("finding", Kind.TEXT, "In words; null with several starts.", required=True),
    ),
    added_later=True,
)

PREDICTIONS = ResultTable(
    "predictions",
    "a row a capacity that the other configurations predict",
    (
        *columns("system case", Kind.TEXT, "Names.", required=True),
        *columns(
            "configuration",
            Kind.TEXT,
            "What is swept beside the workload and the nodes; only cases that share it predict each other.",
            required=True,
        ),
        *columns("role", Kind.TEXT, "The one that comes to its limit first.", required=True),
        *columns(
            "cpu_share",
            Kind.REAL,
            "How much of its quota a role may use: the median over the other cases.",
            unit="1",
            required=True,
        ),
        *columns(
            "measured predicted",
            Kind.REAL,
            "Measured is the geometric mean of passed_rate and failed_rate.",
            unit="messages/s",
            required=True,
        ),
    ),
    introduction="Of runs whose searches have CPU quotas (`node_size`) and differ in workload and nodes enough: "
    "[capacity](method/capacity.md), “Predicted capacity”.",
    added_later=True,
)

COSTS = ResultTable(
    "costs",
    "what a message, a byte and a batch take",
    (
        *columns("system", Kind.TEXT, "Whose servers.", required=True),
        *columns(
            "configuration",
            Kind.TEXT,
            "The swept settings that are no inputs of the model; empty without any.",
            required=True,
        ),
        *columns("role", Kind.TEXT, "Which of its servers.", required=True),
        *columns(
            "resource",
            Kind.TEXT,
            "A counter of the table `use`: cpu_s, disk_write_bytes, net_in_bytes, net_out_bytes, flushes.",
            required=True,
        ),
        *columns(
            "work",
            Kind.TEXT,
            "`idle`, `taken in`, `copied`, `sent to bookies`, `read`, `stored`.",
            required=True,
        ),
        *columns(
            "unit",
            Kind.TEXT,
            "`node` (a second), `message`, `byte` or `batch`: each time that it is handled in this way.",
            required=True,
        ),
        *columns(
            "value low high",
            Kind.REAL,
            "How much of the resource one takes, and its 95 % interval.",
            required=True,
        ),
        *columns("observations", Kind.INT, "Trials that were fitted.", required=True),
        *columns(
            "residual_low residual_high",
            Kind.REAL,
            "The lowest and highest of measured over predicted use.",
            unit="1",
            required=True,
        ),
        *columns(
            "error_median error_p90",
            Kind.REAL,
            "By which share the use of a case is off that is predicted from the other cases: in the median, and in the "
            "worst tenth of cases.",
            unit="1",
            required=True,
        ),
    ),
    introduction="A row a cost, where the trials of a run differ enough to tell it ([sizing](method/sizing.md)). Empty "
    "where something breaks.",
    added_later=True,
)
