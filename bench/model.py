"""The nouns that every package shares: plain frozen dataclasses, and a few words about them.

Times are integer nanoseconds of CLOCK_MONOTONIC unless a name says otherwise; sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, TypeAlias

Scalar: TypeAlias = str | int | float | bool
Settings: TypeAlias = Mapping[str, Scalar]


def text(value: object) -> str:
    """Write a setting's value as names, tables, server configurations and librdkafka do: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def texts(values: object) -> list[str]:
    """Return a value, or each of a list, as `text` has it."""
    return [text(value) for value in (values if isinstance(values, list) else [values])]


NANOS = 1_000_000_000
SETTLING_SLICE = -1
"""The slice of sends that belong to no slice that counts: a trial's first ones, while its topic and clients settle."""
NEVER_NS = 2**63 - 1
"""Later than any time."""

EMULATED_FSYNC = "emulated_fsync"
"""The setting of a disk that makes an fsync dearer, on every server of a trial."""
READING = ("read", "consume")
"""Kinds of step in which somebody reads the topic."""
MOVING = ("drain", "rebalance")
"""Kinds of step in which an operator moves stored messages."""
WAITING = (*READING, "subscribe", "look-up", "mark")
"""Kinds of step that break nothing."""


def only_waits(steps: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the steps of a scenario break nothing, and ask what becomes of messages once the load is over."""
    waits = all(any(word in step for word in WAITING) for step in steps)
    return waits and any((step.get("when") or {}).get("load") == "over" for step in steps)


FEW_FSYNCS = 20
"""A server that made fewer in a trial says nothing of how long they were held."""

ENOUGH_TRIALS = 5
"""From so many trials of a case on there is an interval and a verdict: 5 that agree come by chance once in 32 times."""


class Outcome(IntEnum):
    """What is known of a send once it is over (Jepsen's ok, fail, info)."""

    OK = 0
    FAIL = 1
    UNKNOWN = 2

    @property
    def label(self) -> str:
        """The word the event log uses: ok, fail or unknown."""
        return self.name.lower()


class Verdict(StrEnum):
    """Whether a trial's numbers may be used."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


class Change(StrEnum):
    """What two runs say of one case."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "no difference"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Interval:
    """From where to where a figure lies with 95 % confidence."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CaseComparison:
    """One case in two runs. `ratio` is the second run's value over the first's, with its 95 % interval.

    `trials` are the valid ones of both. Without values in one of them only the names are there. `reason` says why a
    case is worse where its ratio does not. `chance` is the share of pairs of equal runs in which any case looks as
    much worse as this one. Of a better one it is the share in which any looks as much better. `proven`: chance
    among so many cases does not explain that.
    """

    system: str
    case: str
    trials: tuple[int, int]
    medians: tuple[float, float] | None
    ratio: float | None
    interval: Interval | None
    change: Change
    reason: str = ""
    chance: float | None = None
    proven: bool = False


MEMBER = "member"
"""The role of a member of a consumer group that is a process of its own, and so a node."""
PROCESSES = "processes"
"""The key of a `consumer_group` that makes its members such."""


class Jit(StrEnum):
    """How the servers' JVMs compile: their own default, or C1 only (fast start, for `quick` and tests)."""

    DEFAULT = "default"
    C1 = "c1"


PROCESS, DOCKER = "process", "docker"
"""How servers of the suite's own run (Cluster.backend)."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything that needs other server processes when it changes. Cases with equal clusters share one.

    `nodes` counts nodes by role; `settings` holds server properties by role, under their own names. With
    `processor` a node more runs an application (bench/load/processor.py). The `members` of a consumer group that
    are processes of their own (bench/load/member.py) are nodes, too. With `own_disks` each server's data lie on a
    file system of their own. With `fsync_gates` each fsync can be held. With `memory_groups` each node's memory can
    be limited.

    `spare` counts, by role, the last of its nodes that are not started with it: a step may start them.

    With `pinned` its servers, and the load with the suite, run on cores of their own (bench/backends/cores.py).

    With `groups` its storage nodes stand in groups, each with all the nodes of its roles and settings of its own: by
    group, then by role. Cases that differ in nothing else then share a cluster (Case.group).

    With `external` it is a cluster that somebody else runs, at that endpoint (bench/systems/endpoint.py): the suite
    starts no node, and `version`, `nodes` and `settings` are what the cluster says. `topic_prefix` begins the names of
    topics there. `external_nodes` are those that may be broken, each with its address and the commands for that
    (bench/scenario/cluster_file.py). `backend` is how its servers run otherwise: PROCESS, or DOCKER.
    """

    system: str
    version: str
    nodes: Mapping[str, int]
    settings: Mapping[str, Settings] = field(default_factory=dict)
    heap_mib: Mapping[str, int] = field(default_factory=dict)
    jit: Jit = Jit.DEFAULT
    processor: bool = False
    members: int = 0
    own_disks: bool = False
    fsync_gates: bool = False
    memory_groups: bool = False
    pinned: bool = False
    spare: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Settings]] = field(default_factory=dict)
    external: str = ""
    topic_prefix: str = ""
    external_nodes: Mapping[str, Settings] = field(default_factory=dict)
    backend: str = PROCESS

    @property
    def starts_servers(self) -> bool:
        """Whether the suite starts servers for it."""
        return bool(self.nodes) and not self.external

    def settings_of(self, group: str) -> dict[str, Settings]:
        """Return server properties by role, as a case of this group has them."""
        return {**self.settings, **self.groups.get(group, {})}

    def first(self, nodes: Sequence[Node]) -> list[Node]:
        """Return those of its nodes that are started with it, in their order."""
        later = {
            node.name for role, count in self.spare.items() if count for node in of_role(nodes, role)[-count:]
        }
        return [node for node in nodes if node.name not in later]


@dataclass(frozen=True, slots=True)
class Topic:
    """What a trial writes to. `settings` holds `partitions` and the system's own topic settings.

    Kafka: `replicas` and any topic property; Pulsar: `quorums` ("E-Qw-Qa"); memory: none. `group` is the group of
    storage nodes that keeps it, where the cluster has groups. With `keys` each message has one of so many keys: that of
    number sequence modulo `keys`, as text. `tenant` is the tenant of a system that has them; empty for the suite's own.
    """

    name: str
    partitions: int
    settings: Settings = field(default_factory=dict)
    group: str = ""
    keys: int = 0
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Pacing:
    """When sends are due, by producer. `steps` are (seconds, messages per second over all producers).

    Closed loop: no steps, a send is due when the one before it is over. Open loop: one step or more; the
    last step's rate goes on until the load ends.
    """

    steps: tuple[tuple[float, float], ...] = ()

    @property
    def is_closed_loop(self) -> bool:
        """Whether the next send waits for the one before (then response time equals service time)."""
        return not self.steps


@dataclass(frozen=True, slots=True)
class Load:
    """What the producers do. `window` is the number of unacknowledged sends a producer may have; 1 = sync.

    With `slices` a trial's load is cut into so many. Each has a lead-in of `warm_up_s` and a counted part of
    `duration_s`. Between them the other cases of the cluster are loaded. Without, it is one contiguous load. With
    `keys` messages have keys, so many different ones. `most_per_s` limits the messages a second of a closed loop,
    over all producers; 0 for no limit. `processes` on this machine share the producers, and as many the consumers.
    """

    producers: int
    message_bytes: int
    pacing: Pacing
    window: int
    consumers: int
    warm_up_s: float
    duration_s: float | None
    messages: int | None
    slices: int | None = None
    keys: int = 0
    most_per_s: float = 0.0
    processes: int = 1


@dataclass(frozen=True, slots=True)
class Case:
    """One point of a sweep: one system, one whole configuration.

    `swept` holds only what the scenario sweeps for this system, in the scenario's order: a case's short name.
    `producer` and `consumer` are client properties under the client's own names; `processor` is the application between
    two topics, if there is one (bench/systems/processing.py). `disk` is what an fsync is made to cost
    (bench/run/emulated_disks.py). `faults` are the steps of what breaks during a trial, as the scenario has them
    (bench/faults/step.py). With `telemetry` servers and machine are looked at while the load runs (bench/telemetry).
    `group` is the group of storage nodes that it uses, where its cluster has groups. `node_size` is how much of the
    machine each node of a role gets: `cpu` in cores, `network` such as 50mbit (bench/run/node_sizes.py). `capacity` is
    what a search for its capacity needs, in seconds (bench/scenario/capacity_spec.py); empty where there is none.
    With a `consumer_group` the live consumers are members of one group (bench/systems/membership.py).
    """

    system: str
    name: str
    swept: Settings
    cluster: Cluster
    partitions: int
    topic: Settings
    producer: Settings
    consumer: Settings
    load: Load
    processor: Settings = field(default_factory=dict)
    disk: Settings = field(default_factory=dict)
    faults: tuple[Mapping[str, Any], ...] = ()
    telemetry: bool = True
    group: str = ""
    node_size: Mapping[str, Settings] = field(default_factory=dict)
    capacity: Settings = field(default_factory=dict)
    consumer_group: Settings = field(default_factory=dict)

    @property
    def only_waits(self) -> bool:
        """Whether its steps break nothing, and go on once the load is over."""
        return only_waits(self.faults)


@dataclass(frozen=True, slots=True)
class TopicState:
    """What a live cluster says of a topic. `available`: every partition is served.

    `copies_missing`: the system knows of copies that are not there (Kafka: a replica out of sync; Pulsar: a ledger
    marked under-replicated); None when nobody could tell. `in_sync`: replicas in sync in the partition that has
    the fewest; None where the system has no such thing, or nobody could tell.
    """

    available: bool
    copies_missing: bool | None
    in_sync: int | None


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of one case in one round; `number` counts from 0 over the run, in the order run."""

    number: int
    round: int
    case: Case


@dataclass(frozen=True, slots=True)
class Node:
    """One server process: where it lives, how it is started and what it may use.

    `directory` is the node's own folder (configuration, data); `log` is the file its output goes to.
    `ports` must be free at its address before the start. `memory_bytes` is what it may grow to. `group` is the group of
    storage nodes that it belongs to, where the cluster has groups.
    """

    name: str
    role: str
    address: str
    command: tuple[str, ...]
    directory: Path
    log: Path
    ports: tuple[int, ...]
    memory_bytes: int
    environment: Mapping[str, str] = field(default_factory=dict)
    group: str = ""


def of_role(nodes: Iterable[Node], role: str) -> list[Node]:
    """Return the nodes of one role."""
    return [node for node in nodes if node.role == role]


def of_group(nodes: Iterable[Node], group: str) -> list[Node]:
    """Return the nodes that a case of this group uses: those of all groups, and its own."""
    return [node for node in nodes if node.group in {"", group}]


BUSY = 0.9
"""From this share of its time on, something is taken to be at its limit."""

OTHER_WORK_CORES = 0.5
"""From so many cores on, other work than the trial's own is in the way of its rates, latencies and gaps."""


def has_other_work(other_cpu: float | None) -> bool:
    """Whether other work took OTHER_WORK_CORES cores or more; not where nobody looked."""
    return (other_cpu or 0.0) >= OTHER_WORK_CORES


PROCESS_COUNTERS = ("cpu_s", "disk_read_bytes", "disk_write_bytes", "net_in_bytes", "net_out_bytes")
"""What telemetry counts of each process when it looks at the machine; the rest is asked of servers, less often."""

NO_END, HEALING, RESTART, NEXT = "no end", "healing", "restart", "next fault"
"""What a time without service may have ended by: nothing, until the load was over; something that was healed within it;
a server that had ended by itself and was started again within it; the next fault, which has the rest. Else it ended by
itself. Where what only slowed something is healed, that ends no other fault's gap."""
ERRORS = "errors"
"""What an expectation may speak of beside the metrics: the sends that ended with one error (results/errors)."""
STEP_NS = "step_ns"
"""The same: the time from one step of a trial's faults to a later one."""
