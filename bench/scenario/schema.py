"""The shape of a scenario file. Strict: what is not described here is refused.

The JSON Schema that editors use (scenarios/scenario.schema.json) is made from it in bench/faults/schema.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from bench.model import Jit, Pacing
from bench.scenario.expectation import Expectation
from bench.scenario.values import (
    Count,
    Duration,
    FsyncCosts,
    Properties,
    Scalar,
    Strict,
    SweptCount,
    SweptFlag,
)

PROFILES = ("quick", "standard", "full")


class TopicSpec(Strict):
    """What every system's topic has."""

    partitions: SweptCount = 1


class Step(Strict):
    """One step of a schedule: this rate over all producers, for so long."""

    rate: Annotated[float, Field(gt=0, strict=False)]
    duration: Duration = Field(alias="for")


class LoadSpec(Strict):
    """What the producers do. Without rate or schedule they are a closed loop."""

    producers: SweptCount = 1
    message_bytes: SweptCount = 1000
    window: Count = 1
    rate: Annotated[float, Field(gt=0, strict=False)] | None = None
    schedule: list[Step] | None = None

    @model_validator(mode="after")
    def _one_pacing(self) -> LoadSpec:
        if self.rate is not None and self.schedule is not None:
            message = "give rate or schedule, not both"
            raise ValueError(message)
        return self

    def pacing(self) -> Pacing:
        """Return the pacing as the load room takes it."""
        if self.rate is not None:
            return Pacing(((1.0, self.rate),))
        return Pacing(tuple((step.duration, step.rate) for step in self.schedule or ()))


class DiskSpec(Strict):
    """What one fsync costs: `as is`, or so much more on every server, held by the suite. A list is swept."""

    emulated_fsync: FsyncCosts


class WarmUp(Strict):
    """What is sent before anything counts: on a fresh cluster until its compilers rest, or so long; in each trial."""

    cluster: Duration = 20.0
    trial: Duration = 1.0


class KafkaNodes(Strict):
    """Kafka's processes by role: controllers (KRaft), or before 4.0 ZooKeeper and `controller: 0`."""

    zookeeper: Annotated[int, Field(ge=0)] = 0
    controller: Annotated[int, Field(ge=0)] = 1
    broker: Count = 4


class PulsarNodes(Strict):
    """Pulsar's processes by role."""

    zookeeper: Count = 1
    bookie: Count = 4
    broker: Count = 2


class Variant(Strict):
    """Settings that go together, by who owns them: one value of a sweep over whole configurations."""

    topic: dict[str, Scalar] = Field(default_factory=dict)
    producer: dict[str, Scalar] = Field(default_factory=dict)
    consumer: dict[str, Scalar] = Field(default_factory=dict)
    zookeeper: dict[str, Scalar] = Field(default_factory=dict)
    broker: dict[str, Scalar] = Field(default_factory=dict)

    def settings(self) -> dict[tuple[str, str], Scalar]:
        """Return them by owner and name."""
        owners: dict[str, dict[str, Scalar]] = self.model_dump()
        return {(owner, name): value for owner, those in owners.items() for name, value in those.items()}


class KafkaVariant(Variant):
    """See Variant."""

    controller: dict[str, Scalar] = Field(default_factory=dict)


class PulsarVariant(Variant):
    """See Variant."""

    bookie: dict[str, Scalar] = Field(default_factory=dict)


class SystemSpec(Strict):
    """What each system has: its version, and settings by who owns them. A list is swept."""

    version: str | None = None
    heap_mib: dict[str, Count] = Field(default_factory=dict)
    topic: Properties = Field(default_factory=dict)
    producer: Properties = Field(default_factory=dict)
    consumer: Properties = Field(default_factory=dict)
    processor: Properties = Field(default_factory=dict)
    faults: list[dict[str, Any]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _variants_fit(self) -> SystemSpec:
        """Refuse variants that set what is swept elsewhere, or what this cluster does not have."""
        taken: dict[tuple[str, str], str] = {}
        for name, values in self.named_variants().items():
            keys = {key for variant in values.values() for key in variant.settings()}
            for owner, setting in sorted(keys):
                swept = isinstance(getattr(self, owner, {}).get(setting), list)
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
    variants: dict[str, Annotated[dict[str, KafkaVariant], Field(min_length=2)]] = Field(default_factory=dict)
    zookeeper: Properties = Field(default_factory=dict)
    controller: Properties = Field(default_factory=dict)
    broker: Properties = Field(default_factory=dict)

    def node_counts(self) -> Mapping[str, int]:
        """See SystemSpec."""
        return {role: count for role, count in self.nodes.model_dump().items() if count}

    def server_properties(self) -> Mapping[str, Properties]:
        """See SystemSpec."""
        roles = {"zookeeper": self.zookeeper, "controller": self.controller, "broker": self.broker}
        return {role: those for role, those in roles.items() if those or role in self.node_counts()}

    def named_variants(self) -> Mapping[str, Mapping[str, Variant]]:
        """See SystemSpec."""
        return self.variants


class PulsarSpec(SystemSpec):
    """Pulsar. `topic` takes quorums (E-Qw-Qa); the others the servers' and the client's own names."""

    nodes: PulsarNodes = PulsarNodes()
    variants: dict[str, Annotated[dict[str, PulsarVariant], Field(min_length=2)]] = Field(
        default_factory=dict
    )
    zookeeper: Properties = Field(default_factory=dict)
    bookie: Properties = Field(default_factory=dict)
    broker: Properties = Field(default_factory=dict)

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
    pulsar: PulsarSpec | None = None
    memory: MemorySpec | None = None

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

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    title: str
    question: str
    source: str | None = None
    expectations: list[Expectation] = Field(default_factory=list)
    systems: Systems
    jit: Annotated[Jit, Field(strict=False)] = Jit.DEFAULT
    topic: TopicSpec = TopicSpec()
    load: LoadSpec = LoadSpec()
    consumers: Annotated[int, Field(ge=0)] = 1
    disk: DiskSpec | None = None
    telemetry: SweptFlag = True
    warm_up: WarmUp = WarmUp()
    duration: Duration | None = None
    messages: Count | None = None
    repeats: Count = 5
    profiles: dict[Literal["quick", "standard", "full"], dict[str, Any]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_end(self) -> Scenario:
        if (self.duration is None) == (self.messages is None):
            message = "give duration or messages: one of them ends a trial"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _expectations_fit(self) -> Scenario:
        spoken_of = set[str]().union(*(expectation.systems for expectation in self.expectations))
        absent = spoken_of - set(self.systems.chosen())
        if absent:
            message = (
                f"an expectation speaks of {', '.join(sorted(absent))}, which this scenario does not run"
            )
            raise ValueError(message)
        for expectation in self.expectations:
            self._steps_there(expectation)
        return self

    def _steps_there(self, expectation: Expectation) -> None:
        for system in expectation.systems if expectation.steps else ():
            known = [step["name"] for step in self.systems.chosen()[system].faults if "name" in step]
            for name in expectation.steps:
                if name not in known:
                    message = (
                        f"the expectation {expectation.id!r} speaks of a step {name!r}, which {system} does not have; "
                        f"one of {', '.join(known)}"
                    )
                    raise ValueError(message)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files; what a step of faults may be is added in bench/faults/schema.py."""
    schema = Scenario.model_json_schema()
    inner = {name: value for name, value in schema["properties"].items() if name != "profiles"}
    partial = {"type": "object", "additionalProperties": False, "properties": inner}
    schema["$defs"]["Profile"] = partial
    schema["properties"]["profiles"] = {
        "type": "object",
        "additionalProperties": False,
        "description": "Keys that a profile lays over the file; `standard` is the file as it stands.",
        "properties": {name: {"$ref": "#/$defs/Profile"} for name in PROFILES},
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
