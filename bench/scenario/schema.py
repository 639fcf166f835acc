"""The shape of a scenario file. Strict: what is not described here is refused.

The JSON Schema that editors use (scenarios/scenario.schema.json) is made from it in bench/faults/schema.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from bench.model import MEMBER, Jit, Pacing
from bench.scenario.capacity_spec import CapacitySpec
from bench.scenario.expectation import Expectation, SystemName
from bench.scenario.presentation import KEYS, MOST_ENTRIES, Cause, Comparison, Labels
from bench.scenario.values import (
    Budget,
    Count,
    Duration,
    DurationOrNone,
    FsyncCosts,
    Properties,
    Rate,
    Scalar,
    Share,
    Strict,
    Swept,
    SweptCores,
    SweptCount,
    SweptCountOrNone,
    SweptDiskRate,
    SweptFlag,
    SweptLength,
    SweptLinkRate,
    SweptMemory,
    SweptRate,
    SweptVersion,
)

PROFILES = ("quick", "standard", "full")
_LEAST_HEAP_MIB = 64


def _about(description: str) -> Any:  # noqa: ANN401 - what pydantic's Field returns
    """Say what a key is, to whoever writes it: the schema shows it."""
    return Field(description=description)


class TopicSpec(Strict):
    """What every system's topic has."""

    partitions: Annotated[SweptCount, _about("How many partitions the topic has; a list is swept.")] = 1


class Step(Strict):
    """One step of a schedule: this rate over all producers, for so long."""

    rate: Annotated[Rate, _about("Sends per second, of all producers together.")]
    duration: Duration = Field(alias="for", description="For so long: 500ms, 6s, 2m, 1h.")


class LoadSpec(Strict):
    """What the producers do. Without rate or schedule they are a closed loop."""

    producers: Annotated[
        SweptCount, _about("How many producers, each with a client of its own; a list is swept.")
    ] = 1
    message_bytes: Annotated[SweptCount, _about("How long each message is; a list is swept.")] = 1000
    window: Annotated[
        SweptCount,
        _about("How many sends of one producer may be open at a time, 1: synchronous; a list is swept."),
    ] = 1
    rate: Annotated[
        SweptRate | None,
        _about(
            "An open loop: so many sends a second, of all producers together, each due in time; a list is swept."
        ),
    ] = None
    keys: Annotated[
        Count | None,
        _about(
            "Messages have keys, so many different ones in turn; all messages of a key go to one partition."
        ),
    ] = None
    schedule: Annotated[
        Annotated[list[Step], Field(min_length=1)] | None,
        _about("An open loop of several rates, one after the other; the last one stays."),
    ] = None

    @model_validator(mode="after")
    def _one_pacing(self) -> LoadSpec:
        if self.rate is not None and self.schedule is not None:
            message = "give rate or schedule, not both"
            raise ValueError(message)
        return self

    def pacing(self, rate: float | None) -> Pacing:
        """Return the pacing as the load room takes it; `rate` is the one of this case, if the load has any."""
        if rate is not None:
            return Pacing(((1.0, rate),))
        return Pacing(tuple((step.duration, step.rate) for step in self.schedule or ()))


class DiskSpec(Strict):
    """What one fsync costs: `as is`, or so much more on every server, held by the suite. A list is swept."""

    emulated_fsync: Annotated[FsyncCosts, _about("`as is`, or by how much longer an fsync takes: 1ms, 5ms.")]


class WarmUp(Strict):
    """What is sent before anything counts: on a fresh cluster until its compilers rest, or so long; in each trial."""

    cluster: Annotated[
        DurationOrNone,
        _about(
            "For how long at most a fresh cluster is loaded, until its JIT compilers rest; 0s: as short as can be."
        ),
    ] = 20.0
    trial: Annotated[Duration, _about("How long each trial's load runs before what counts.")] = 1.0


class SliceSpec(Strict):
    """How a trial's load is cut where nothing breaks: the slices of all cases of a cluster follow one another."""

    length: Annotated[Duration, _about("How long the part of a slice is that counts.")] = 0.5
    lead_in: Annotated[Duration, _about("How long each slice is loaded before what counts.")] = 0.1


class KafkaNodes(Strict):
    """Kafka's processes by role: controllers (KRaft), or before 4.0 ZooKeeper and `controller: 0`."""

    zookeeper: Annotated[int, Field(ge=0)] = 0
    """How many coordinate the cluster before Kafka 4.0, in place of controllers."""
    controller: Annotated[int, Field(ge=0)] = 1
    """How many KRaft controllers; 0 with ZooKeeper."""
    broker: Count = 4
    """How many brokers, which keep the messages."""


class PulsarNodes(Strict):
    """Pulsar's processes by role."""

    zookeeper: Count = 1
    """How many coordinate the cluster."""
    bookie: Count = 4
    """How many bookies, which keep the messages."""
    broker: Count = 2
    """How many brokers, which serve topics."""


class Variant(Strict):
    """Settings that go together, by who owns them: one value of a sweep over whole configurations."""

    nodes: dict[str, Count] = Field(
        default_factory=dict, description="How many processes of a role, instead of the system's `nodes`."
    )
    topic: dict[str, Scalar] = Field(default_factory=dict, description="Settings of the topic.")
    producer: dict[str, Scalar] = Field(
        default_factory=dict, description="Settings of the producers' client."
    )
    consumer: dict[str, Scalar] = Field(
        default_factory=dict, description="Settings of the consumers' client."
    )
    zookeeper: dict[str, Scalar] = Field(default_factory=dict, description="Settings of each ZooKeeper.")
    broker: dict[str, Scalar] = Field(default_factory=dict, description="Settings of each broker.")

    def settings(self) -> dict[tuple[str, str], Scalar]:
        """Return them by owner and name."""
        owners: Mapping[str, Mapping[str, Scalar]] = self.model_dump()
        return {(owner, name): value for owner, those in owners.items() for name, value in those.items()}


class KafkaVariant(Variant):
    """Settings of Kafka that go together, by who owns them."""

    controller: dict[str, Scalar] = Field(default_factory=dict, description="Settings of each controller.")


class PulsarVariant(Variant):
    """Settings of Pulsar that go together, by who owns them."""

    bookie: dict[str, Scalar] = Field(default_factory=dict, description="Settings of each bookie.")


class Omission(Strict):
    """Points of the sweep that a scenario leaves out, and why."""

    where: Annotated[
        dict[str, Swept],
        Field(min_length=1),
        _about(
            "Swept settings with their values; the points that have one of the values of each are left out."
        ),
    ]
    because: Annotated[str, Field(min_length=1), _about("Why they are left out; the report lists it.")]


class NodeSize(Strict):
    """How much of the machine each node of a role gets while its cases are loaded; a list is swept."""

    cpu: Annotated[SweptCores | None, _about("How many cores: 0.2 is a fifth of one.")] = None
    memory: Annotated[
        SweptMemory | None,
        _about("How much memory it has, its page cache included: 512MiB, 1.5GiB."),
    ] = None
    network: Annotated[
        SweptLinkRate | None, _about("How much its link carries each way: 500kbit, 50mbit, 1gbit.")
    ] = None
    disk_write: Annotated[
        SweptDiskRate | None,
        _about("How much its disk takes: 500kB/s, 20MB/s; it has a disk of its own then."),
    ] = None
    fsync: Annotated[SweptLength | None, _about("By how much longer each of its fsyncs takes: 1ms, 5ms.")] = (
        None
    )


class SystemSpec(Strict):
    """What each system has: its version, and settings by who owns them. A list is swept."""

    version: Annotated[
        SweptVersion | None, _about("The servers' version; without it the suite's own; a list is swept.")
    ] = None
    heap_mib: dict[str, Annotated[int, Field(ge=_LEAST_HEAP_MIB)]] = Field(
        default_factory=dict,
        description="Heap of a role's JVMs in MiB, by role; without it clusters/*/README.md's.",
    )
    topic: Properties = Field(
        default_factory=dict,
        description="Kafka: `replicas` (without it one a broker, at most 3), topic properties. "
        "Pulsar: `quorums` (E-Qw-Qa), `bundles`, policies.",
    )
    producer: Properties = Field(default_factory=dict, description="The client's own producer properties.")
    consumer: Properties = Field(default_factory=dict, description="The client's own consumer properties.")
    processor: Properties = Field(
        default_factory=dict,
        description="An application between two topics: when it settles (Kafka `commit`: before, after, transaction; "
        "Pulsar `acknowledge`: before, after, deduplicated), `batch`, `work_ms`.",
    )
    consumer_group: Properties = Field(
        default_factory=dict,
        description="The consumers share the messages as members of one group: its `type` (Kafka: classic, consumer, "
        "share; Pulsar: Exclusive, Failover, Shared), `work_ms` of each over a message. With `processes: true` each "
        "is a process of its own, the node member-1 and so on: it can be killed, stopped, and started where it is "
        "`spare`.",
    )
    without: list[Omission] = Field(
        default_factory=list, description="Points of the sweep that are left out, with the reason."
    )
    node_size: dict[str, NodeSize] = Field(
        default_factory=dict,
        description="How much of the machine each node gets, by role; set after the warm-up.",
    )
    spare: dict[str, Count] = Field(
        default_factory=dict,
        description="How many of the nodes of a role, the last ones, wait until a step starts them (`start`).",
    )
    faults: list[dict[str, Any]] = Field(
        default_factory=list, description="Steps that break things while the load runs, one after the other."
    )

    @model_validator(mode="after")
    def _variants_fit(self) -> SystemSpec:
        """Refuse variants that set what is swept elsewhere, or what this cluster does not have."""
        taken: dict[tuple[str, str], str] = {}
        for name, values in self.named_variants().items():
            keys = {key for variant in values.values() for key in variant.settings()}
            for owner, setting in sorted(keys):
                if owner == "nodes" and setting not in self.node_counts():
                    message = f"variants.{name} sets nodes.{setting}, and there is no {setting}"
                    raise ValueError(message)
                swept = owner != "nodes" and isinstance(getattr(self, owner, {}).get(setting), list)
                if swept or (owner, setting) in taken:
                    message = f"variants.{name} sets {owner}.{setting}, which is swept elsewhere too"
                    raise ValueError(message)
                if setting == "partitions":
                    message = f"variants.{name}: partitions are swept by topic.partitions"
                    raise ValueError(message)
                if owner in {"zookeeper", "controller", "broker", "bookie"} and not self.node_counts().get(
                    owner
                ):
                    message = f"variants.{name} sets {owner}.{setting}, and there is no {owner}"
                    raise ValueError(message)
                taken[owner, setting] = name
        return self

    @model_validator(mode="after")
    def _sizes_of_known_roles(self) -> SystemSpec:
        for role in self.node_size:
            if not self.node_counts().get(role):
                message = (
                    f"node_size.{role}: there is no {role}; nodes: {', '.join(self.node_counts()) or 'none'}"
                )
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _spare_of_more(self) -> SystemSpec:
        for role, count in self.spare.items():
            if role != MEMBER and count >= self.node_counts().get(role, 0):
                message = (
                    f"spare.{role}: one {role} at least is started with the cluster: {count} are too many"
                )
                raise ValueError(message)
        return self

    def versions(self) -> list[str]:
        """Return the servers' versions that the scenario names."""
        if self.version is None:
            return []
        return self.version if isinstance(self.version, list) else [self.version]

    def node_counts(self) -> Mapping[str, int]:
        """Nodes by role; none for a system without server processes."""
        return {}

    def named_variants(self) -> Mapping[str, Mapping[str, Variant]]:
        """Return the sweeps over whole configurations: by name, the values with their settings."""
        return {}

    def server_properties(self) -> Mapping[str, Properties]:
        """Server properties by role."""
        return {}


class KafkaSpec(SystemSpec):
    """Kafka. `topic` takes replicas and topic properties; the others Kafka's and librdkafka's own names."""

    nodes: KafkaNodes = KafkaNodes()
    """How many processes of each role."""
    variants: dict[str, Annotated[dict[str, KafkaVariant], Field(min_length=2)]] = Field(default_factory=dict)
    """Sweeps over whole configurations: by name, each value with its settings."""
    zookeeper: Properties = Field(default_factory=dict)
    """zookeeper.properties of each ZooKeeper; a list is swept."""
    controller: Properties = Field(default_factory=dict)
    """server.properties of each controller; a list is swept."""
    broker: Properties = Field(default_factory=dict)
    """server.properties of each broker; a list is swept."""
    features: Properties = Field(default_factory=dict)
    """Levels of the cluster's features, such as eligible.leader.replicas.version; a list is swept."""

    def node_counts(self) -> Mapping[str, int]:
        """See SystemSpec."""
        return {role: count for role, count in self.nodes.model_dump().items() if count}

    def server_properties(self) -> Mapping[str, Properties]:
        """See SystemSpec."""
        roles = {"zookeeper": self.zookeeper, "controller": self.controller, "broker": self.broker}
        found = {role: those for role, those in roles.items() if those or role in self.node_counts()}
        return found | ({"features": self.features} if self.features else {})

    def named_variants(self) -> Mapping[str, Mapping[str, Variant]]:
        """See SystemSpec."""
        return self.variants


class PulsarSpec(SystemSpec):
    """Pulsar. `topic` takes quorums (E-Qw-Qa); the others the servers' and the client's own names."""

    nodes: PulsarNodes = PulsarNodes()
    """How many processes of each role."""
    variants: dict[str, Annotated[dict[str, PulsarVariant], Field(min_length=2)]] = Field(
        default_factory=dict
    )
    """Sweeps over whole configurations: by name, each value with its settings."""
    zookeeper: Properties = Field(default_factory=dict)
    """zookeeper.conf of each ZooKeeper; a list is swept."""
    bookie: Properties = Field(default_factory=dict)
    """bookkeeper.conf of each bookie; a list is swept."""
    broker: Properties = Field(default_factory=dict)
    """broker.conf of each broker; a list is swept."""

    def node_counts(self) -> Mapping[str, int]:
        """See SystemSpec."""
        return self.nodes.model_dump()

    def server_properties(self) -> Mapping[str, Properties]:
        """See SystemSpec."""
        return {"zookeeper": self.zookeeper, "bookie": self.bookie, "broker": self.broker}

    def named_variants(self) -> Mapping[str, Mapping[str, Variant]]:
        """See SystemSpec."""
        return self.variants


class MemorySpec(SystemSpec):
    """The in-memory system: no servers; its producer settings inject faults."""


class Systems(Strict):
    """The systems that a scenario compares."""

    kafka: KafkaSpec | None = None
    """Apache Kafka."""
    pulsar: PulsarSpec | None = None
    """Apache Pulsar."""
    memory: MemorySpec | None = None
    """The in-memory system, for trying things out."""

    @model_validator(mode="after")
    def _any(self) -> Systems:
        if not self.chosen():
            message = "name at least one system: kafka, pulsar, memory"
            raise ValueError(message)
        return self

    def chosen(self) -> dict[str, SystemSpec]:
        """Return the systems that are there, by name."""
        every = {"kafka": self.kafka, "pulsar": self.pulsar, "memory": self.memory}
        return {name: spec for name, spec in every.items() if spec is not None}


class Scenario(Strict):
    """A whole scenario, with one profile already laid over it."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$"), _about("The file's name, without .yaml.")]
    title: Annotated[str, _about("The report's title.")]
    question: Annotated[str, _about("The question that the report answers first.")]
    source: Annotated[str | None, _about("Whose experiment this is, and what it saw.")] = None
    expectations: list[Expectation] = Field(default_factory=list, description="Claims that the data decides.")
    note: Annotated[
        str, _about("One sentence that belongs on the first page, such as that a setting is an experiment.")
    ] = ""
    labels: Annotated[Labels, _about("Short names of configurations: by swept setting, then by value.")] = (
        Field(default_factory=dict)
    )
    answer: Annotated[
        list[Comparison],
        Field(max_length=MOST_ENTRIES),
        _about("What the first page compares, the most important first; at most 3."),
    ] = Field(default_factory=list)
    causes: Annotated[
        list[Cause],
        Field(max_length=MOST_ENTRIES),
        _about("Why faults did what they did, and what prevents it; shown where the data agree; at most 3."),
    ] = Field(default_factory=list)
    systems: Annotated[Systems, _about("What is compared: versions, nodes, settings, faults.")]
    jit: Annotated[
        Jit, Field(strict=False), _about("The servers' JIT compilers: as shipped, or C1 only (starts fast).")
    ] = Jit.DEFAULT
    topic: Annotated[TopicSpec, _about("What the topic is on every system.")] = TopicSpec()
    load: Annotated[LoadSpec, _about("What the producers do.")] = LoadSpec()
    consumers: Annotated[
        SweptCountOrNone,
        _about(
            "How many live consumers; each gets every message, or its part in a consumer_group; a list is swept."
        ),
    ] = 1
    disk: Annotated[DiskSpec | None, _about("What an fsync costs on every server.")] = None
    telemetry: Annotated[
        SweptFlag, _about("Whether servers and processes are looked at; a list is swept.")
    ] = True
    warm_up: Annotated[WarmUp, _about("What is sent before anything counts.")] = WarmUp()
    slice: Annotated[SliceSpec, _about("How a trial's load is cut where nothing breaks.")] = SliceSpec()
    capacity: Annotated[
        CapacitySpec | None,
        _about(
            "Search for the highest rate that each case sustains under a service level, after its closed loop."
        ),
    ] = None
    duration: Annotated[
        Duration | None,
        _about("How long a trial's load counts, all its slices together; this or `messages`."),
    ] = None
    messages: Annotated[Count | None, _about("How many messages a trial counts; this or `duration`.")] = None
    repeats: Annotated[
        Count,
        _about(
            "How many rounds: each starts every cluster anew for all its cases. With `budget`: how many at least."
        ),
    ] = 5
    budget: Annotated[
        Budget | None,
        _about(
            "The run goes on, round by round, until every expectation is decided and the ratios are as precise as "
            "asked, or for so long: 30m, 2h, `unlimited`. Without it there are `repeats` rounds."
        ),
    ] = None
    precision: Annotated[
        Share, _about("How far the interval of a ratio to the baseline may reach, on the median: 5%.")
    ] = 0.05
    smallest_effect: Annotated[
        Share, _about("A smaller difference does not matter: 5%. An expectation may name its own.")
    ] = 0.05
    baseline: Annotated[
        dict[SystemName, dict[str, Scalar]],
        _about("Whom the cases of a system are compared with: swept settings with their values, by system."),
    ] = Field(default_factory=dict)
    profiles: dict[Literal["quick", "standard", "full"], dict[str, Any]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_end(self) -> Scenario:
        if (self.duration is None) == (self.messages is None):
            message = "give duration or messages: one of them ends a trial"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _searchable(self) -> Scenario:
        """Refuse a search where there is no closed loop to begin at, or where nobody sees what arrives."""
        if self.capacity is None:
            return self
        open_loop = self.load.rate is not None or self.load.schedule is not None
        broken = not all(self.interleaved(system) for system in self.systems.chosen().values())
        counts = self.consumers if isinstance(self.consumers, list) else [self.consumers]
        for wrong, message in (
            (open_loop, "capacity finds the rate itself: leave load.rate and load.schedule out"),
            (
                broken,
                "capacity needs trials in slices: leave messages, faults, processor and consumer_group out",
            ),
            (0 in counts, "capacity judges the time to a consumer: set consumers to 1 or more"),
        ):
            if wrong:
                raise ValueError(message)
        return self

    def interleaved(self, system: SystemSpec) -> bool:
        """Return whether a system's trials are measured in slices: nothing breaks, and the load is one all along."""
        contiguous = self.messages is not None or self.load.schedule is not None
        return not contiguous and not system.faults and not system.processor and not system.consumer_group


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files; what a step of faults may be is added in bench/faults/schema.py."""
    schema = Scenario.model_json_schema()
    inner = {name: value for name, value in schema["properties"].items() if name not in {"profiles", *KEYS}}
    partial = {"type": "object", "additionalProperties": False, "properties": inner}
    schema["$defs"]["Profile"] = partial
    schema["properties"]["profiles"] = {
        "type": "object",
        "additionalProperties": False,
        "description": "Keys that a profile lays over the file; `standard` is the file as it stands.",
        "properties": {
            name: {"$ref": "#/$defs/Profile", "description": "What this profile has of its own."}
            for name in PROFILES
        },
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
