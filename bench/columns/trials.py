"""The table `trials`, and the groups of its columns that are computed, shown or compared alike."""

from __future__ import annotations

from bench.columns.column import Kind, ResultTable, columns, names

_POINTS = ("min", "mean", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max")
_REQUIRED_POINTS = {"service_p50_ns", "service_p99_ns", "e2e_p50_ns", "e2e_p99_ns"}

_HEAD = (
    *columns("trial round", Kind.INT, "Numbers, from 0; reports count rounds from 1.", required=True),
    *columns("system case", Kind.TEXT, "`case` is the case's full name.", required=True),
    *columns("state", Kind.TEXT, "`finished` or `failed`.", required=True),
    *columns(
        "verdict reason",
        Kind.TEXT,
        "`valid`, `invalid` or `unknown`; why, where not valid. The verdict is that of trial.json, unless the event "
        "log itself shows that the trial cannot be trusted ([trials](method/trials.md)): then it is invalid.",
        required=True,
    ),
)
_WINDOW = (
    *columns(
        "window_s",
        Kind.REAL,
        "The length of the measured window; of a sliced trial the sum of its slices' counted parts.",
        unit="s",
    ),
    *columns(
        "slices",
        Kind.INT,
        "The number of slices ([event log](event-log.md)); null for a contiguous trial. “Inside the window” means, in "
        "a sliced trial, inside the counted part of the send's own slice.",
    ),
)

CAPACITY = "capacity_msgs_per_s"
CONSUMED = "consumed_msgs_per_s"
_RATES = (
    *columns(
        "throughput_msgs_per_s",
        Kind.REAL,
        "Sends acknowledged (`ok`) with done_ns inside the window, over window_s.",
        unit="messages/s",
        required=True,
    ),
    *columns("throughput_bytes_per_s", Kind.REAL, "The bytes of the same messages.", unit="bytes/s"),
    *columns(
        CAPACITY,
        Kind.REAL,
        "Of a trial that searched for its capacity: the geometric mean of the highest rate that passed and the lowest "
        "that failed (table `holds`). Null where one of them is missing, and without a search.",
        unit="messages/s",
    ),
    *columns(
        CONSUMED,
        Kind.REAL,
        "Where the consumers are members of a group: what they had together in the window, each message once.",
        unit="messages/s",
    ),
)
RATES = names(_RATES)

_MEASURES = {
    "service": "done - sent of acknowledged sends with sent_ns inside the window: exact, over all messages of all "
    "slices.",
    "response": "done - due of the same sends. Null in a closed loop, where it equals service time, and where it "
    "falls among sends that were due and never made ([latency](method/latency.md)).",
    "queue": "sent - due of the same sends: what they waited in front of the client. Null in a closed loop, where "
    "nothing waits.",
    "e2e": "First live received_ns - sent_ns of messages with sent_ns inside the window. Null where it falls among "
    "acknowledged ones that no consumer had ([latency](method/latency.md)).",
}
_TIMES = tuple(
    column
    for measure, meaning in _MEASURES.items()
    for name in (f"{measure}_{point}_ns" for point in _POINTS)
    for column in columns(
        name,
        Kind.LONG,
        meaning,
        unit="ns",
        required=name in _REQUIRED_POINTS,
        heading=f"{measure}_{{{','.join(_POINTS)}}}_ns",
    )
)
TIMES = names(_TIMES)

_END_TO_END = columns(
    "e2e_messages",
    Kind.LONG,
    "How many messages with sent_ns inside the window consumers had; null where there were none to have them.",
)

_CONSUMER_COUNTERS = (
    *columns(
        "polls_back",
        Kind.LONG,
        "How often a live consumer had a message at or before the position of the one just before it. This and the "
        "next four are sums over a trial's consumers and partitions, and null without live consumers "
        "([what live consumers saw](method/delivery.md#what-live-consumers-saw)).",
    ),
    *columns(
        "polls_skipped",
        Kind.LONG,
        "How often a live consumer went on over messages that another reader had.",
    ),
    *columns(
        "positions_with_two_messages",
        Kind.LONG,
        "Positions at which a live consumer had a message where it, another one or the full read also had a different "
        "one.",
    ),
    *columns(
        "read_unacknowledged",
        Kind.LONG,
        "Messages that a live consumer had, and whose send failed or has an unknown outcome.",
    ),
    *columns(
        "read_then_gone",
        Kind.LONG,
        "Messages that a live consumer had and the full read does not have; null where that did not reach the end.",
    ),
)
CONSUMER_COUNTERS = names(_CONSUMER_COUNTERS)
"""What a trial's live consumers saw that its full read alone does not show (docs/method/delivery.md)."""
_COUNTERS = (
    *columns(
        "sent acked failed unknown",
        Kind.LONG,
        "All sends of the trial (warm-up included), by outcome.",
        required=True,
    ),
    *columns(
        "received",
        Kind.LONG,
        "Rows of the verify stage, duplicates and foreign ones included.",
        required=True,
    ),
    *columns("lost", Kind.LONG, "Acknowledged, and not in the verify stage.", required=True),
    *columns(
        "unread",
        Kind.LONG,
        "Acknowledged sends not among the rows of the verify stage, where the full read did not reach the end, "
        "whether they could have been read or not; else 0.",
        required=True,
    ),
    *columns("fail_present", Kind.LONG, "Failed sends that are there."),
    *columns(
        "unknown_present unknown_absent", Kind.LONG, "Sends of unknown outcome that are there; that are not."
    ),
    *columns(
        "duplicates",
        Kind.LONG,
        "Rows of the verify stage beyond the first of a message that was sent.",
        required=True,
    ),
    *columns(
        "out_of_order",
        Kind.LONG,
        "Messages whose first occurrence in a partition comes after a larger sequence of the same producer there.",
        required=True,
    ),
    *columns(
        "foreign",
        Kind.LONG,
        "Rows of the verify stage that no send explains (none of this producer, sequence and sent_ns); any makes the "
        "trial invalid.",
    ),
    *_CONSUMER_COUNTERS,
)
COUNTERS = names(_COUNTERS)

_CERTAINTY = (
    *columns(
        "due_unsent",
        Kind.LONG,
        "Sends that were due by the pacing until 100 ms before the load's end and never made, as too many were open "
        "(what is due later may only have been late). In a sliced trial the sum over the slices, each until 20 ms "
        "before its end. Null in a closed loop. Where messages end the load, how many it lacked when it broke off, "
        "less the warm-up's sends (a lower bound).",
    ),
    *columns(
        "clock_error_ns",
        Kind.LONG,
        "The most by which a time between two load machines may be off; 0 where all processes shared one clock. An "
        "end-to-end time below ten times as much is null.",
        unit="ns",
    ),
    *columns(
        "other_messages_per_s",
        Kind.REAL,
        "How many messages a second the topics of others on an external Kafka cluster got during the load, of those "
        "that its user may describe; null elsewhere.",
        unit="messages/s",
    ),
    *columns(
        "account_complete",
        Kind.BOOL,
        "False where the full read did not reach the end: then lost, unknown_absent and read_then_gone are null, and "
        "the other counters of the verify stage are lower bounds.",
        required=True,
    ),
)

OUTAGE = "unavailable_ns"
READER_STALL_NS = "reader_stall_ns"
_BROKEN = (
    *columns(
        OUTAGE,
        Kind.LONG,
        "The longest time that any one partition had no acknowledgement and that ended after a fault was asked for; "
        "where none came any more until the last send was over ([faults](method/faults.md)). Null without faults.",
        unit="ns",
        required=True,
    ),
    *columns(
        READER_STALL_NS,
        Kind.LONG,
        "The longest time in which nothing came to the reader that a step of the faults began, of times above one "
        "second. It counts from when it began to read in its process, which takes seconds to start. Null where no "
        "step did, and where the reader failed.",
        unit="ns",
        required=True,
    ),
    *columns(
        "reader_short_entries",
        Kind.LONG,
        "How many entries before the next fragment of its ledger that reader stood, in the longest of these times, "
        "over all partitions. Null where nothing had come to it by then, or the ledger has no later fragment.",
    ),
    *columns(
        "copies_missing_ns",
        Kind.LONG,
        "How long copies of the topic were missing after a fault, the longest; where they were not back at the "
        "trial's last look at the topic, or step, until then. Null where nothing can be said.",
        unit="ns",
    ),
    *columns(
        "moves",
        Kind.LONG,
        "How often another node came to lead, or own, a partition than the last one, as sampled once a second; null "
        "without faults.",
    ),
    *columns(
        "lost_first_ns lost_last_ns",
        Kind.LONG,
        "When the first and the last of the lost messages was sent, from when the first fault was asked for: negative "
        "before. Null where none was lost.",
        unit="ns",
    ),
)
BROKEN = names(_BROKEN)
"""What faults did to a trial."""

_ENDED = (
    *columns(
        "unavailable_ended",
        Kind.TEXT,
        "What may have ended the longest time without an acknowledgement: `healing` (something was healed within it), "
        "`restart` (a server that had ended by itself was started again within it), `no end` (none came until the "
        "load was over), `next fault`; null where it ended by itself. What only slowed something (`slow-network`, "
        "`slow-disk`) and is healed ends no other fault's gap.",
        required=True,
    ),
    *columns("reader_stall_ended", Kind.TEXT, "The same of the reader's longest time without a message."),
    *columns(
        "copies_missing_ended",
        Kind.TEXT,
        "`no end` where copies were not back when they were last looked at; null where they were.",
    ),
)
_CLIENT = (
    *columns(
        "cpu_share",
        Kind.REAL,
        "How much of a core the busiest load process used, from trial.json.",
        unit="1",
        required=True,
    ),
    *columns(
        "loop_lag_max_ns",
        Kind.LONG,
        "The longest time by which the load process's event loop was late.",
        unit="ns",
        required=True,
    ),
    *columns("recorder_backlog_max", Kind.LONG, "The most records that waited to be written at one time."),
)
_STEADINESS = (
    *columns(
        "drift",
        Kind.REAL,
        "By what share of its median the mean service time changes over the measured window, or over the slices in "
        "the order run ([statistics](method/statistics.md)). Null where something was broken, or where fewer than half "
        "of the twenty parts hold a send.",
        unit="1",
        required=True,
    ),
    *columns(
        "flags",
        Kind.TEXT,
        "`trend`, `outlier`, or both with a comma; null where neither. Flagged trials count like others.",
        required=True,
    ),
)
_MACHINE = (
    *columns(
        "fsync_ns",
        Kind.LONG,
        "What one fsync cost in the trial, in the middle of the servers that keep messages, of those that made 20 or "
        "more, where the scenario emulates a disk ([load](method/load.md)); else null.",
        unit="ns",
        required=True,
    ),
    *columns(
        "machine_probe_ns machine_page_ns machine_wake_ns machine_line_ns",
        Kind.LONG,
        "What a fixed piece of work, the first touch of a page of memory, waking a process on another core, and "
        "handing a cache line to another core and back took before the trial, from trial.json. The last two are null "
        "on one core.",
        unit="ns",
    ),
    *columns("machine_line_after_ns", Kind.LONG, "The last of these once more, after the trial.", unit="ns"),
)

_SHARES = (
    *columns(
        "machine_cpu_share",
        Kind.REAL,
        "Over the window, or over each slice until its last send had ended: of all cores' time, busy or taken away by "
        "the machine's own host. This and all below, but bottleneck, are null without telemetry.",
        unit="1",
        required=True,
    ),
    *columns("machine_disk_share", Kind.REAL, "Of the disk's time, busy.", unit="1"),
    *columns(
        "network_share",
        Kind.REAL,
        "Of what a link carries: at the node and in the direction that moved most.",
        unit="1",
    ),
    *columns(
        "node_cpu_share",
        Kind.REAL,
        "Of a node's CPU quota (`node_size`), the share that was used on the node that used most; null without quotas.",
        unit="1",
    ),
    *columns("servers_cpu", Kind.REAL, "Cores that all servers took.", unit="cores"),
    *columns(
        "keepers_cpu",
        Kind.REAL,
        "What those of them took that keep messages (Kafka's brokers, bookies).",
        unit="cores",
    ),
    *columns(
        "client_cpu",
        Kind.REAL,
        "Cores that the load processes took. An application between two topics is one.",
        unit="cores",
    ),
    *columns("consumers_cpu", Kind.REAL, "What of it the consumers' process took.", unit="cores"),
    *columns("suite_cpu", Kind.REAL, "Cores that the suite itself took beside them.", unit="cores"),
    *columns(
        "other_cpu",
        Kind.REAL,
        "Cores that all else on the machine took, what its own host took away included.",
        unit="cores",
        required=True,
    ),
    *columns(
        "cpu_waiting_share",
        Kind.REAL,
        "Of the window's time, how much something that could run waited for a core; null where the kernel does not "
        "count it.",
        unit="1",
    ),
    *columns(
        "gc_share",
        Kind.REAL,
        "The share of its time in garbage collection, of the server that spent most there.",
        unit="1",
        required=True,
    ),
    *columns(
        "flush_share",
        Kind.REAL,
        "The same in fsyncs of its log or journal, several at once each counted. In a sliced trial this, flush_ns, "
        "request_ns, flushes_per_message, messages_per_request and broker_spread rest on the slices around which "
        "servers were asked, per second of those slices' load (lead-in included). Throughput, by which "
        "flushes_per_message divides, is that of all slices' counted parts.",
        unit="1",
    ),
)
SHARES = names(_SHARES)
"""How busy what was in a trial's window: of all cores, of the disk's time, of a link, in cores, of the window's time,
of a server's time."""

_USAGE = (
    *columns(
        "cpu_per_message_ns",
        Kind.REAL,
        "CPU time of all servers for each acknowledged message.",
        unit="ns",
    ),
    *columns(
        "disk_bytes_per_byte",
        Kind.REAL,
        "Bytes that all servers wrote to disks for each acknowledged byte.",
        unit="1",
        required=True,
    ),
    *columns(
        "network_bytes_per_byte",
        Kind.REAL,
        "Bytes that all servers received and sent (but for what scrapes had them send) for each acknowledged byte.",
        unit="1",
    ),
    *columns(
        "flushes_per_message",
        Kind.REAL,
        "Flushes of logs or journals ([event log](event-log.md)) of all servers for each acknowledged message.",
        unit="1",
    ),
)
USAGE = names(_USAGE)
"""What the servers took for each acknowledged message, or each byte of it."""

REQUEST_MESSAGES = "messages_per_request"
BROKER_SPREAD = "broker_spread"
_REQUESTS = (
    *columns(
        REQUEST_MESSAGES,
        Kind.REAL,
        "Acknowledged messages for each request to append that brokers counted ([event log](event-log.md)): how large "
        "the client's batches were.",
    ),
    *columns(
        BROKER_SPREAD,
        Kind.REAL,
        "Of the bytes that clients sent to each broker: how far the broker with most, or with least, is from the mean "
        "of all, as a share of it.",
        unit="1",
    ),
)

_KEYED = (
    *columns(
        "key_order_violations",
        Kind.LONG,
        "Of members of a group with `load.keys`: messages whose first receive, at whichever member, came after that of "
        "a later message of the same producer and key, in the whole trial.",
    ),
    *columns("members_per_key", Kind.REAL, "How many members had messages of a key, on average."),
)
KEYED = names(_KEYED)
_MEMBERS = (
    *columns(
        "redelivered",
        Kind.LONG,
        "How often a message came to a member of the group again, or to another one.",
    ),
    *columns("idle_members", Kind.LONG, "Members of the group that had no message."),
    *columns("member_imbalance", Kind.REAL, "How many times the mean the busiest member had.", unit="1"),
    *_KEYED,
)
MEMBERS = names(_MEMBERS)
"""Of the members of a consumer group."""

_STORED = columns(
    "stored_most_bytes stored_last_bytes",
    Kind.LONG,
    "Contiguous trials: what the files below the data folders of all servers that keep messages held together; the "
    "most, and when it was last looked at.",
    unit="bytes",
)
STORED = names(_STORED)
_FOOTPRINT = (
    *columns(
        "servers_rss_bytes",
        Kind.LONG,
        "Contiguous trials: the most memory that all servers had together (resident, pages that several share counted "
        "in each).",
        unit="bytes",
    ),
    *columns(
        "servers_open_files",
        Kind.LONG,
        "Contiguous trials: the most files and connections that all servers had open together.",
    ),
)
FOOTPRINT = names(_FOOTPRINT)
CREATE_NS = "create_ns"
SEGMENTS = "segments"
_TOPIC = (
    *columns(
        CREATE_NS,
        Kind.LONG,
        "Contiguous trials: how long it took to create the topic, until every partition was served.",
        unit="ns",
    ),
    *columns(
        SEGMENTS,
        Kind.LONG,
        "Pulsar (ledgers), contiguous trials with steps: the most of them that a partition had at one time.",
    ),
)
_LIMITS = (
    *columns(
        "flush_ns",
        Kind.REAL,
        "The mean time of one flush of a log or journal by the servers' own count, Kafka's exactly, all else in whole "
        "milliseconds ([resources](method/resources.md)).",
        unit="ns",
    ),
    *columns(
        "flush_most_ns",
        Kind.REAL,
        "The most that one such fsync can have had of the disk: for how long it was busy, over the fsyncs of one of "
        "the nodes that made them.",
        unit="ns",
    ),
    *columns(
        "request_ns",
        Kind.REAL,
        "The mean time of one request to append at the brokers (whose wait for followers or bookies is in it), by the "
        "servers' own count, in whole milliseconds.",
        unit="ns",
    ),
    *columns(
        "bottleneck bottleneck_evidence",
        Kind.TEXT,
        "What limited it (client, cpu, disk, network, broker, none, unknown), and what speaks for that, in words "
        "([resources](method/resources.md)); null without a window.",
        required=True,
    ),
)

TRIALS = ResultTable(
    "trials",
    "a row a trial, in the order run",
    (
        *(*_HEAD, *_WINDOW, *_RATES, *_TIMES, *_END_TO_END, *_COUNTERS, *_CERTAINTY, *_BROKEN, *_ENDED),
        *(*_CLIENT, *_STEADINESS, *_MACHINE, *_SHARES, *_USAGE, *_REQUESTS, *_MEMBERS, *_STORED),
        *(*_FOOTPRINT, *_TOPIC, *_LIMITS),
    ),
    introduction="After `reason` stands one column for each swept setting, under the setting's own name (`acks`, "
    "`min.insync.replicas`, `quorums`, `journalSyncData`): text, null where the system does not have it.",
    more_after="reason",
)

METRICS = (
    *(*RATES, *TIMES, *COUNTERS, *BROKEN, *MEMBERS, *USAGE, REQUEST_MESSAGES, BROKER_SPREAD),
    *(*STORED, *FOOTPRINT, CREATE_NS, SEGMENTS),
)
"""Columns of `trials` that an expectation may speak of."""
