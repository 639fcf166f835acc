"""The shape of a scenario file. Strict: what is not described here is refused.

The JSON Schema that editors use (scenarios/scenario.schema.json) is made from it in bench/faults/schema.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from bench.model import ERRORS, METRICS, Jit, Pacing

PROFILES = ("quick", "standard", "full")

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)(ms|s|m|h)$")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(value: object) -> float:
    """Turn '500ms', '6s', '2m', '1h' into seconds."""
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        message = "a duration is a number with its unit: 500ms, 6s, 2m, 1h"
        raise ValueError(message)
    return float(match[1]) * _SECONDS[match[2]]


def _once(values: object) -> object:
    """Refuse a sweep that names a value twice: its cases would have the same name."""
    if isinstance(values, list) and len({str(value) for value in values}) < len(values):
        message = "a value stands twice in this sweep"
        raise ValueError(message)
    return values


Duration: TypeAlias = Annotated[
    float,
    BeforeValidator(_seconds),
    Field(gt=0),
    WithJsonSchema({"type": "string", "pattern": _DURATION.pattern, "examples": ["6s"]}),
]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Scalar: TypeAlias = bool | int | float | str
Sweep: TypeAlias = Annotated[list[Scalar], Field(min_length=1), BeforeValidator(_once)]
Swept: TypeAlias = Scalar | Sweep
SweptCount: TypeAlias = Count | Annotated[list[Count], Field(min_length=1), BeforeValidator(_once)]
Properties: TypeAlias = dict[str, Swept]


class Strict(BaseModel):
    """Unknown keys and other types are refused, nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Expectation(Strict):
    """A claim that the data can decide. Exactly one of decreasing, increasing, at_most, at_least.

    The metric `errors` counts the sends that ended with `error`, the client's own name for it.
    """

    id: str
    claim: str
    source: str | None = None
    system: Literal["kafka", "pulsar", "memory"]
    metric: str
    error: str | None = None
    decreasing: dict[str, list[Scalar]] | None = None
    increasing: dict[str, list[Scalar]] | None = None
    at_most: float | None = Field(default=None, strict=False)
    at_least: float | None = Field(default=None, strict=False)
    where: dict[str, Swept] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_form(self) -> Expectation:
        forms = [self.decreasing, self.increasing, self.at_most, self.at_least]
        if sum(form is not None for form in forms) != 1:
            message = "give exactly one of decreasing, increasing, at_most, at_least"
            raise ValueError(message)
        if self.metric not in (*METRICS, ERRORS):
            known = ", ".join((*METRICS, ERRORS))
            message = f"metric {self.metric!r} is no column of results/trials: one of {known}"
            raise ValueError(message)
        if (self.metric == ERRORS) != (self.error is not None):
            message = f"the metric {ERRORS!r} and the name of an error go together"
            raise ValueError(message)
        for values in (*(self.decreasing or {}).values(), *(self.increasing or {}).values()):
            if len(self.decreasing or self.increasing or {}) != 1 or len(values) < 2:
                message = "decreasing and increasing take one setting with two values or more"
                raise ValueError(message)
        return self


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


class WarmUp(Strict):
    """What is sent before anything counts: once on a fresh cluster, and at the start of each trial."""

    cluster: Duration = 5.0
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


class SystemSpec(Strict):
    """What each system has: its version, and settings by who owns them. A list is swept."""

    version: str | None = None
    heap_mib: dict[str, Count] = Field(default_factory=dict)
    topic: Properties = Field(default_factory=dict)
    producer: Properties = Field(default_factory=dict)
    consumer: Properties = Field(default_factory=dict)
    processor: Properties = Field(default_factory=dict)
    faults: list[dict[str, Any]] = Field(default_factory=list)

    def node_counts(self) -> Mapping[str, int]:
        """Nodes by role; none for a system without server processes."""
        return {}

    def server_properties(self) -> Mapping[str, Properties]:
        """Server properties by role."""
        return {}


class KafkaSpec(SystemSpec):
    """Kafka. `topic` takes replicas and topic properties; the others Kafka's and librdkafka's own names."""

    nodes: KafkaNodes = KafkaNodes()
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


class PulsarSpec(SystemSpec):
    """Pulsar. `topic` takes quorums (E-Qw-Qa); the others the servers' and the client's own names."""

    nodes: PulsarNodes = PulsarNodes()
    zookeeper: Properties = Field(default_factory=dict)
    bookie: Properties = Field(default_factory=dict)
    broker: Properties = Field(default_factory=dict)

    def node_counts(self) -> Mapping[str, int]:
        """See SystemSpec."""
        return self.nodes.model_dump()

    def server_properties(self) -> Mapping[str, Properties]:
        """See SystemSpec."""
        return {"zookeeper": self.zookeeper, "bookie": self.bookie, "broker": self.broker}


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
        absent = {e.system for e in self.expectations} - set(self.systems.chosen())
        if absent:
            message = (
                f"an expectation speaks of {', '.join(sorted(absent))}, which this scenario does not run"
            )
            raise ValueError(message)
        return self


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
