"""What trial.json holds of a trial (docs/event-log.md): written by the runner, read by the analysis and the report."""

from __future__ import annotations

from statistics import median
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from bench.fault_kinds import fault_kind
from bench.guarantee import Guarantee, all_settings
from bench.model import FEW_FSYNCS, NANOS, READING, WAITING, Pacing, Scalar, Verdict, text
from bench.pacing import Schedule
from bench.records.record import Record
from bench.records.steps import (
    AnyStep,
    GroupRecord,
    LeftOutRecord,
    MoveRecord,
    ReadingRecord,
    ReadRecord,
    StepRecord,
    StrikeRecord,
)
from bench.systems.description import Description
from bench.systems.layout import partition_layout
from bench.systems.registry import STORAGE_ROLES, describe

FORMAT: Literal[2] = 2
"""The version of what is written; version 1, without slices, is read, too."""
_NARROWING = "slow-network"
_MBIT = 125_000


class Window(Record):
    """The part of the load that counts; `end_ns` is exclusive."""

    start_ns: int
    end_ns: int


class SpanRecord(Record):
    """A stretch of a trial's load: it is loaded from `begun_ns` on, and [start_ns, end_ns) of it counts."""

    slice: int
    begun_ns: int
    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """How long the part that counts is."""
        return self.end_ns - self.start_ns

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.begun_ns <= self.start_ns < self.end_ns:
            raise ValueError("begun_ns must not be after start_ns, and start_ns must be before end_ns")
        return self


class SliceRecord(SpanRecord):
    """A slice; in each cycle every case of the cluster start has one."""

    cycle: int


HoldKey = tuple[int, int]
"""A trial and the slice in which it held a rate."""


class HoldRecord(SpanRecord):
    """A slice in which a rate was held, in messages a second; `confirms`: the result rests on it.

    By `verdict` (capacity.judgement.HoldVerdict) and `reason` the search went on. `copies_missing`: the system knew of
    missing copies at its end; None where nobody asked, or could tell. `late_copies_share` is as of capacity.hold.Hold.
    """

    rate: float
    confirms: bool
    client_cpu_share: float
    copies_missing: bool | None = None
    late_copies_share: float | None = None
    verdict: str | None = None
    reason: str | None = None


class CaseRecord(Record):
    """A trial's case: `settings` are the swept ones, `configuration` the whole as asked for."""

    system: str
    name: str
    settings: dict[str, Scalar]
    configuration: dict[str, Any] = Field(default_factory=dict)

    @property
    def description(self) -> Description:
        """What the suite knows of its system."""
        return describe(self.system)

    @property
    def nodes(self) -> dict[str, int]:
        """How many servers it has, by role."""
        return {role: int(count) for role, count in self.configuration.get("nodes", {}).items()}

    @property
    def all_settings(self) -> dict[str, str]:
        """Every setting that it asks for, swept or not, by its own name, as text."""
        return all_settings(self.settings, self.configuration)

    @property
    def guarantee(self) -> Guarantee | None:
        """What its acknowledgements promise; None where no promise is known."""
        return self.description.guarantee(self.settings, self.configuration)

    @property
    def copies(self) -> int:
        """How many copies of each message it makes."""
        return self.description.copies(self.all_settings, self.nodes)


class LoadRecord(Record):
    """The load as asked for (model.Load).

    `pacing` is `closed`, or a list of (seconds, messages per second over all producers), or null where nobody knows.
    What is null in an older record was not known, or not there yet.
    """

    pacing: Literal["closed"] | list[tuple[float, float]] | None
    producers: int | None = None
    window: int | None = None
    consumers: int | None = None
    message_bytes: int | None = None
    warm_up_s: float | None = None
    duration_s: float | None = None
    messages: int | None = None
    keys: int | None = None
    most_per_s: float | None = None
    processes: int | None = None

    @property
    def one_send_open(self) -> bool:
        """Whether one producer had one send open, so that a rate is a time in other words."""
        return self.pacing == "closed" and self.producers == 1 and (self.window or 1) == 1

    @property
    def schedule(self) -> Schedule | None:
        """When an open loop's sends were due, from the warm-up's begin on; None for a closed one."""
        if not isinstance(self.pacing, list) or not self.pacing or not self.producers:
            return None
        return Schedule(Pacing(tuple(self.pacing)), self.producers, self.warm_up_s or 0.0)


class CheckRecord(Record):
    """One check behind a trial's verdict."""

    check: str
    verdict: Verdict
    reason: str | None = None


class ClientRecord(Record):
    """The load process in the window: its share of a core, its longest lateness, its fullest queue of records."""

    cpu_share: float | None = None
    loop_lag_max_ns: int | None = None
    recorder_backlog_max: int | None = None


class MachineRecord(Record):
    """What fixed pieces of work took (backends.machine.probe), and a cache line again after the load."""

    probe_ns: int | None = None
    page_ns: int | None = None
    wake_ns: int | None = None
    line_ns: int | None = None
    line_after_ns: int | None = None


class DiskRecord(Record):
    """By server: what an fsync was measured to cost before the load, and for how long it was held in the load."""

    emulated_fsync: Scalar
    fsync_ns: dict[str, dict[str, int]] = Field(default_factory=dict)
    held: dict[str, dict[str, int]] = Field(default_factory=dict)

    @property
    def typical_ns(self) -> int | None:
        """What one fsync cost in the trial, in the middle of the servers that keep messages, of those that made some.

        That is what it was measured to cost before the load, and by how much longer gates then held the servers' own.
        """
        keepers = {
            node: cost for node, cost in self.fsync_ns.items() if node.rpartition("-")[0] in STORAGE_ROLES
        } or self.fsync_ns
        made = [
            cost["p50"] - cost["gate_p50"] + held["p50"]
            for node, cost in keepers.items()
            if "gate_p50" in cost and (held := self.held.get(node)) and held["calls"] >= FEW_FSYNCS
        ]
        costs = made or [cost["p50"] for cost in keepers.values()]
        return round(median(costs)) if costs else None


class NodeSizeRecord(Record):
    """The `limits` asked for by role, and what each node was measured to get (run.node_sizes).

    Numbers are cores, bytes, bytes a second (of a link: into the node and out of it), and seconds.
    """

    limits: dict[str, dict[str, Scalar]] = Field(default_factory=dict, alias="asked")
    measured: dict[str, dict[str, float | tuple[float, float]]] = Field(default_factory=dict)

    @property
    def slows(self) -> bool:
        """Whether it holds more than the nodes' memory: then it is to be what limits them."""
        return any(name != "memory" for got in self.measured.values() for name in got)

    @property
    def cores(self) -> dict[str, float]:
        """How many cores each node with a quota got."""
        return {node: got["cpu"] for node, got in self.measured.items() if isinstance(got.get("cpu"), float)}  # type: ignore[misc]  # checked

    @property
    def links(self) -> dict[str, float]:
        """How many bytes a second each node's narrow link carried, in the slower direction."""
        rates = ((node, got.get("network")) for node, got in self.measured.items())
        return {node: min(rate) for node, rate in rates if isinstance(rate, tuple)}


class VerifyRecord(Record):
    """Whether the full read reached the end, and why not."""

    complete: bool = False
    reason: str | None = None


class HistoryRecord(Record):
    """The partitions of a topic that changed by then, each as its system's `Admin.layout` tells it."""

    at_ns: int
    partitions: list[dict[str, Any]]


class TrialRecord(Record):
    """What trial.json tells of a trial."""

    format: Literal[1, 2]
    trial: int
    round: int
    case: CaseRecord
    load: LoadRecord
    started_utc: str | None = None
    state: Literal["finished", "failed"]
    reason: str | None = None
    window: Window | None = None
    slices: list[SliceRecord] | None = None
    holds: list[HoldRecord] | None = None
    logs: str | None = None
    faults: list[AnyStep] = Field(default_factory=list)
    history: list[HistoryRecord] = Field(default_factory=list)
    created_ns: int | None = None
    clock_error_ns: int = 0
    other_messages_per_s: float | None = None
    verdict: Verdict
    verdicts: list[CheckRecord] = Field(default_factory=list)
    client: ClientRecord | None = None
    machine: MachineRecord | None = None
    disk: DiskRecord | None = None
    node_size: NodeSizeRecord | None = None
    effective: dict[str, Any] | None = None
    verify: VerifyRecord | None = None

    @field_validator("slices")
    @classmethod
    def _check_slice_numbers(cls, slices: list[SliceRecord] | None) -> list[SliceRecord] | None:
        if [span.slice for span in slices or ()] != list(range(len(slices or ()))):
            raise ValueError("slices must be numbered 0, 1, 2 … in the order run")
        return slices

    @property
    def slice_count(self) -> int:
        """How many slices there are in the event log, held rates included; a contiguous trial is one."""
        return len(self.slices or (None,)) + len(self.holds or ())

    @property
    def has_slices(self) -> bool:
        """Whether the trial was measured in slices, and not in one contiguous window."""
        return self.slices is not None

    @property
    def spans(self) -> tuple[SliceRecord, ...]:
        """The stretches that count: the slices, or the whole window as slice 0; none without a window."""
        window = self.window
        if window is None or window.end_ns <= window.start_ns:
            return ()
        if self.slices is not None:
            return tuple(self.slices)
        begun_ns = window.start_ns - round((self.load.warm_up_s or 0.0) * NANOS)
        span = SliceRecord(
            slice=0, cycle=0, begun_ns=begun_ns, start_ns=window.start_ns, end_ns=window.end_ns
        )
        return (span,)

    @property
    def settings(self) -> dict[str, str]:
        """The swept settings as text, as tables and expectations compare them."""
        return {name: text(value) for name, value in self.case.settings.items()}

    @property
    def producer(self) -> dict[str, Any]:
        """The producer's settings as the client itself has them; empty where it did not come so far."""
        return (self.effective or {}).get("producer") or {}

    @property
    def has_consumer_group(self) -> bool:
        """Whether its live consumers were members of one group, which shared its messages."""
        return bool(self.case.configuration.get("consumer_group"))

    @property
    def open_loop(self) -> bool:
        """Whether sends were due by a schedule, so that response time is more than service time."""
        return isinstance(self.load.pacing, list)

    @property
    def is_fault_trial(self) -> bool:
        """Whether more was done to it than to put it under standing conditions (docs/method/faults.md)."""
        return not all(self._stands(step) for step in self.faults)

    def _stands(self, step: StepRecord) -> bool:
        """Whether a step only made something slower, over the whole window, or broke nothing while the load ran."""
        if self.window is None:
            return False
        if step.kind in WAITING:
            return step.asked_ns < self.window.end_ns
        if (
            not isinstance(step, StrikeRecord)
            or step.effect_ns is None
            or not fault_kind(step.kind).only_slows
        ):
            return False
        heal_ns = step.heal_asked_ns
        return step.effect_ns <= self.window.start_ns and (heal_ns is None or heal_ns >= self.window.end_ns)

    @property
    def strikes(self) -> dict[int, StrikeRecord]:
        """The faults among its steps, by their place among them."""
        return {place: step for place, step in enumerate(self.faults) if isinstance(step, StrikeRecord)}

    @property
    def stopped_short(self) -> bool:
        """Whether all that is wrong with it is that a step was awaited in vain, and faults behind it never came."""
        wrong = [check.check for check in self.verdicts if check.verdict != Verdict.VALID]
        left_out = any(isinstance(step, LeftOutRecord) for step in self.faults)
        return wrong == ["faults"] and left_out and all(fault.proven for fault in self.strikes.values())

    @property
    def links(self) -> dict[str, float]:
        """The bytes a second that the links of nodes carried that were made narrow over the whole window."""
        asked_links = {
            fault.get("name", f"{_NARROWING} {number}"): fault[_NARROWING]
            for number, fault in enumerate(self.case.configuration.get("faults") or (), 1)
            if isinstance(fault.get(_NARROWING), dict)
        }
        rates = {
            node: float((asked_links.get(fault.name.partition(", ")[0]) or {}).get("mbit_per_s") or 0) * _MBIT
            for fault in self.strikes.values()
            if self._stands(fault)
            for node in fault.nodes
        }
        return {node: rate for node, rate in rates.items() if rate}

    @property
    def reading_steps(self) -> dict[int, ReadingRecord]:
        """The steps in which somebody read the topic, by their place among its steps."""
        return {
            place: step
            for place, step in enumerate(self.faults)
            if isinstance(step, ReadRecord | GroupRecord) and step.kind in READING
        }

    @property
    def moving_steps(self) -> dict[int, MoveRecord]:
        """The steps in which an operator moved stored messages, by their place among its steps."""
        return {place: step for place, step in enumerate(self.faults) if isinstance(step, MoveRecord)}

    @property
    def most_segments(self) -> int | None:
        """The most segments that a partition had at one time; None where nobody saw any."""
        layouts = (partition_layout(record) for change in self.history for record in change.partitions)
        return max((len(layout.segments) for layout in layouts if layout.segments is not None), default=None)

    @property
    def is_verified(self) -> bool:
        """Whether the full read reached the end, so that what was not read is not there."""
        return self.verify is not None and self.verify.complete
