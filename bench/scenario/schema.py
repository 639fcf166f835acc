"""The shape of a scenario file. Strict: what is not described here is refused.

The JSON Schema that editors use (scenarios/scenario.schema.json) is made from it in bench/faults/schema.py.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from bench.model import Jit, Pacing
from bench.scenario.capacity_spec import CapacitySpec
from bench.scenario.delivery_expectation import DeliveryExpectation
from bench.scenario.expectation import Expectation, SystemName
from bench.scenario.presentation import KEYS, MOST_ENTRIES, CauseSpec, ComparisonSpec, Labels
from bench.scenario.system_spec import Systems, SystemSpec
from bench.scenario.values import (
    Budget,
    Count,
    Duration,
    DurationOrNone,
    FsyncCosts,
    Rate,
    Scalar,
    Share,
    StrictModel,
    SweptCount,
    SweptCountOrNone,
    SweptFlag,
    SweptRate,
    about,
)

PROFILES = ("quick", "standard", "full")


class TopicSpec(StrictModel):
    """What every system's topic has."""

    partitions: Annotated[SweptCount, about("How many partitions the topic has; a list is swept.")] = 1


class RateStep(StrictModel):
    """One step of a schedule: this rate over all producers, for so long."""

    rate: Annotated[Rate, about("Sends per second, of all producers together.")]
    duration: Duration = Field(alias="for", description="For so long: 500ms, 6s, 2m, 1h.")


class LoadSpec(StrictModel):
    """What the producers do. Without rate or schedule they are a closed loop."""

    producers: Annotated[
        SweptCount, about("How many producers, each with a client of its own; a list is swept.")
    ] = 1
    message_bytes: Annotated[SweptCount, about("How long each message is; a list is swept.")] = 1000
    window: Annotated[
        SweptCount,
        about("How many sends of one producer may be open at a time, 1: synchronous; a list is swept."),
    ] = 1
    rate: Annotated[
        SweptRate | None,
        about(
            "An open loop: so many sends a second, of all producers together, each due in time; a list is swept."
        ),
    ] = None
    processes: Annotated[
        Count,
        about("How many processes share the producers, and as many the consumers; all on this machine."),
    ] = 1
    keys: Annotated[
        Count | None,
        about(
            "Messages have keys, so many different ones in turn; all messages of a key go to one partition."
        ),
    ] = None
    schedule: Annotated[
        Annotated[list[RateStep], Field(min_length=1)] | None,
        about("An open loop of several rates, one after the other; the last one stays."),
    ] = None

    @model_validator(mode="after")
    def _producer_for_each_process(self) -> LoadSpec:
        fewest = min(self.producers) if isinstance(self.producers, list) else self.producers
        if self.processes > fewest:
            message = f"processes: {self.processes} needs as many producers at least, and there are {fewest}"
            raise ValueError(message)
        return self

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


class DiskSpec(StrictModel):
    """What one fsync costs: `as is`, or so much more on every server, held by the suite. A list is swept."""

    emulated_fsync: Annotated[FsyncCosts, about("`as is`, or by how much longer an fsync takes: 1ms, 5ms.")]


class WarmUp(StrictModel):
    """What is sent before anything counts: on a fresh cluster until its compilers rest, or so long; in each trial."""

    cluster: Annotated[
        DurationOrNone,
        about(
            "For how long at most a fresh cluster is loaded, until its JIT compilers rest; 0s: as short as can be."
        ),
    ] = 20.0
    trial: Annotated[Duration, about("How long each trial's load runs before what counts.")] = 1.0


class SliceSpec(StrictModel):
    """How a trial's load is cut where nothing breaks: the slices of all cases of a cluster follow one another."""

    length: Annotated[Duration, about("How long the part of a slice is that counts.")] = 0.5
    lead_in: Annotated[Duration, about("How long each slice is loaded before what counts.")] = 0.1


class Scenario(StrictModel):
    """A whole scenario, with one profile already laid over it."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$"), about("The file's name, without .yaml.")]
    title: Annotated[str, about("The report's title.")]
    question: Annotated[str, about("The question that the report answers first.")]
    source: Annotated[str | None, about("Whose experiment this is, and what it saw.")] = None
    expectations: list[Expectation] = Field(default_factory=list, description="Claims that the data decides.")
    note: Annotated[
        str, about("One sentence that belongs on the first page, such as that a setting is an experiment.")
    ] = ""
    labels: Annotated[Labels, about("Short names of configurations: by swept setting, then by value.")] = (
        Field(default_factory=dict)
    )
    answer: Annotated[
        list[ComparisonSpec],
        Field(max_length=MOST_ENTRIES),
        about("What the first page compares, the most important first; at most 3."),
    ] = Field(default_factory=list)
    causes: Annotated[
        list[CauseSpec],
        Field(max_length=MOST_ENTRIES),
        about("Why faults did what they did, and what prevents it; shown where the data agree; at most 3."),
    ] = Field(default_factory=list)
    systems: Annotated[Systems, about("What is compared: versions, nodes, settings, faults.")]
    jit: Annotated[
        Jit, Field(strict=False), about("The servers' JIT compilers: as shipped, or C1 only (starts fast).")
    ] = Jit.DEFAULT
    pin: Annotated[
        bool,
        about(
            "Whether servers run on cores of their own: the load and the suite get the last quarter of the "
            "machine's cores, at least one, and the servers the others."
        ),
    ] = False
    topic: Annotated[TopicSpec, about("What the topic is on every system.")] = TopicSpec()
    load: Annotated[LoadSpec, about("What the producers do.")] = LoadSpec()
    consumers: Annotated[
        SweptCountOrNone,
        about(
            "How many live consumers; each gets every message, or its part in a consumer_group; a list is swept."
        ),
    ] = 1
    disk: Annotated[DiskSpec | None, about("What an fsync costs on every server.")] = None
    telemetry: Annotated[
        SweptFlag, about("Whether servers and processes are looked at; a list is swept.")
    ] = True
    warm_up: Annotated[WarmUp, about("What is sent before anything counts.")] = WarmUp()
    slice: Annotated[SliceSpec, about("How a trial's load is cut where nothing breaks.")] = SliceSpec()
    capacity: Annotated[
        CapacitySpec | None,
        about(
            "Search for the highest rate that each case sustains under a service level, after its closed loop."
        ),
    ] = None
    duration: Annotated[
        Duration | None,
        about("How long a trial's load counts, all its slices together; this or `messages`."),
    ] = None
    messages: Annotated[Count | None, about("How many messages a trial counts; this or `duration`.")] = None
    repeats: Annotated[
        Count,
        about(
            "How many rounds: each starts every cluster anew for all its cases. With `budget`: how many before "
            "anything is decided, or fewer where the budget ends first."
        ),
    ] = 5
    budget: Annotated[
        Budget | None,
        about(
            "The run goes on, round by round, until every expectation is decided and the ratios are as precise as "
            "asked, or for so long: 30m, 2h, `unlimited`. Without it there are `repeats` rounds."
        ),
    ] = None
    precision: Annotated[
        Share, about("How far the interval of a ratio to the baseline may reach, on the median: 5%.")
    ] = 0.05
    smallest_effect: Annotated[
        Share, about("A smaller difference does not matter: 5%. An expectation may name its own.")
    ] = 0.05
    baseline: Annotated[
        dict[SystemName, dict[str, Scalar]],
        about("Whom the cases of a system are compared with: swept settings with their values, by system."),
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
        broken = not all(self.is_interleaved(system) for system in self.systems.specs().values())
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

    def is_interleaved(self, system: SystemSpec) -> bool:
        """Return whether a system's trials are measured in slices: nothing breaks, and the load is one all along."""
        one_load = self.messages is not None or self.load.schedule is not None
        steps = any(system.step_lists().values())
        return not (one_load or steps or system.processor or system.consumer_group)


class ScenarioFile(Scenario):
    """What a scenario file may have, before the file that it extends is merged under it."""

    extends: Annotated[
        str | None,
        about(
            "A scenario, a file of shared defaults (defaults/faults), or the path of a file: its keys are merged under "
            "this file's. A list replaces its list; null takes a key out."
        ),
    ] = None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files; what a step of faults may be is added in bench/faults/schema.py."""
    schema = ScenarioFile.model_json_schema()
    _allow_short_forms(schema)
    # A file that extends another may have any key from there, and a file without a name is one of defaults.
    schema["anyOf"] = [
        {"required": schema.pop("required")},
        {"required": ["extends"]},
        {"not": {"required": ["name"]}},
    ]
    of_file = {"profiles", "extends", "name", *KEYS}
    inner = {name: value for name, value in schema["properties"].items() if name not in of_file}
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


def _allow_short_forms(schema: dict[str, Any]) -> None:
    """Let an entry of `expectations` be a short form, too."""
    short_form = DeliveryExpectation.model_json_schema()
    name = DeliveryExpectation.__name__
    schema["$defs"] |= {name: short_form} | short_form.pop("$defs", {})
    expectations = schema["properties"]["expectations"]
    expectations["items"] = {"anyOf": [expectations["items"], {"$ref": f"#/$defs/{name}"}]}
