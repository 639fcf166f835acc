"""What the steps of a trial did: the entries of `faults` in trial.json (docs/event-log.md).

A step's record is begun when the step is asked for, and filled while it goes on. Times are nanoseconds on the clock of
the event log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from bench.records.record import Record

_STRIKE = "strike"


class StepRecord(Record):
    """What every step has: its `condition` in words, `effect_ns` when it was done, or took effect."""

    name: str
    kind: str
    condition: str | None = Field(default=None, alias="when")
    asked_ns: int
    effect_ns: int | None = None


class StrikeRecord(StepRecord):
    """A fault; `kind` is that of the fault.

    `away`: it takes its nodes away; taken for granted in older records that lack it. `after_load`: it, or an earlier
    step, waited for the load's end. `heal` is when it was to be undone. `evidence` and `heal_seen` say how it was seen;
    without enough `proven` is False, and `unproven` may tell why.
    """

    target: list[str] = Field(default_factory=list)
    nodes: list[str] = Field(default_factory=list)
    away: bool = True
    evidence: str | None = Field(default=None, alias="seen")
    after_load: bool = False
    heal: Literal["after", "end", "never"] | None = None
    heal_asked_ns: int | None = None
    healed_ns: int | None = None
    heal_seen: str | None = None
    proven: bool = False
    unproven: str | None = None

    @property
    def took_effect(self) -> bool:
        """Whether it was seen to take effect."""
        return self.effect_ns is not None


class UndoRecord(StepRecord):
    """The fault `of` was undone on these nodes. Older records lack `of`."""

    kind: Literal["undo"] = "undo"
    of: str | None = None
    nodes: list[str] = Field(default_factory=list)
    evidence: str | None = Field(default=None, alias="seen")


class StallRecord(Record):
    """A time in which nothing came to a reader.

    `received` is how many messages had come by then, and `at` the last one's position in each partition: partition,
    ledger or -1, entry.
    """

    from_ns: int
    to_ns: int
    received: int = 0
    at: list[tuple[int, int, int]] = Field(default_factory=list)

    @property
    def length_ns(self) -> int:
        """How long it was."""
        return self.to_ns - self.from_ns


class ReadRecord(StepRecord):
    """Somebody read the topic from its beginning; `complete`: to its end."""

    kind: Literal["read"] = "read"
    received: int = 0
    at: list[tuple[int, int, int]] = Field(default_factory=list)
    stalls: list[StallRecord] = Field(default_factory=list)
    complete: bool = False
    reason: str | None = None

    @property
    def stood_still(self) -> bool:
        """Whether it stood still when it was given up: nothing came after its last stall began."""
        return bool(self.stalls) and not self.complete and self.stalls[-1].received == self.received


class GroupRecord(StepRecord):
    """A consumer group began to read (`subscribe`), or read all there was (`consume`)."""

    kind: Literal["subscribe", "consume"]
    group: str
    received: int = 0
    reason: str | None = None


class LookUpRecord(StepRecord):
    """The topic was asked for as a new client does."""

    kind: Literal["look-up"] = "look-up"
    evidence: str | None = Field(default=None, alias="seen")


class MoveRecord(StepRecord):
    """An operator moved stored messages: off the `nodes` of a drain, or over all nodes."""

    kind: Literal["drain", "rebalance"]
    nodes: list[str] = Field(default_factory=list)
    evidence: str | None = Field(default=None, alias="seen")


class MarkRecord(StepRecord):
    """Nothing was done: it notes the time of a condition."""

    kind: Literal["mark"] = "mark"


class RestartRecord(StepRecord):
    """A node ended by itself, or was started again by the suite."""

    kind: Literal["ended", "started"]
    nodes: list[str] = Field(default_factory=list)
    evidence: str | None = Field(default=None, alias="seen")


class LeftOutRecord(StepRecord):
    """A step's condition did not come in its time, so it and those after it were left out; `strikes` are the faults."""

    kind: Literal["left out"] = "left out"
    evidence: str | None = Field(default=None, alias="seen")
    strikes: list[str] = Field(default_factory=list)


_KINDS = {
    "undo": "undo",
    "read": "read",
    "subscribe": "group",
    "consume": "group",
    "look-up": "look-up",
    "drain": "move",
    "rebalance": "move",
    "mark": "mark",
    "ended": "restart",
    "started": "restart",
    "left out": "left out",
}


def _tag(step: Any) -> str:  # noqa: ANN401 - a record, or a JSON object
    kind = step.get("kind") if isinstance(step, Mapping) else getattr(step, "kind", None)
    return _KINDS.get(str(kind), _STRIKE)


AnyStep: TypeAlias = Annotated[
    Annotated[StrikeRecord, Tag(_STRIKE)]
    | Annotated[UndoRecord, Tag("undo")]
    | Annotated[ReadRecord, Tag("read")]
    | Annotated[GroupRecord, Tag("group")]
    | Annotated[LookUpRecord, Tag("look-up")]
    | Annotated[MoveRecord, Tag("move")]
    | Annotated[MarkRecord, Tag("mark")]
    | Annotated[RestartRecord, Tag("restart")]
    | Annotated[LeftOutRecord, Tag("left out")],
    Discriminator(_tag),
]
"""Any entry of `faults`; what is no other kind of step is a fault."""
ReadingRecord: TypeAlias = ReadRecord | GroupRecord


def strikes(steps: Iterable[StepRecord]) -> list[StrikeRecord]:
    """Return the faults among a trial's steps."""
    return [step for step in steps if isinstance(step, StrikeRecord)]


def reads_folder(step: str) -> str:
    """Return where a trial keeps what the reader or the group of a step received."""
    return f"reads/{step.replace(' ', '-')}"


def healed_ns(node: str, fault: StrikeRecord, steps: Iterable[StepRecord]) -> int | None:
    """Return when a node was healed: by a step that undid the fault for it, or with all that were left; or None.

    A record from before it was written down which fault a step undoes is taken to undo this one.
    """
    times = [
        step.effect_ns
        for step in steps
        if isinstance(step, UndoRecord)
        and step.of in {None, fault.name}
        and node in step.nodes
        and (step.effect_ns or 0) > fault.asked_ns
    ]
    return min((at_ns for at_ns in [*times, fault.healed_ns] if at_ns is not None), default=None)
