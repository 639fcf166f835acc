"""What the runner asks of its load processes: one JSON object a line, {"verb": …, …}; see docs of each class.

Answers are lines too: {"progress": {…}} any number of times, then {"done": {…}}, or {"error": sentence,
"kind": name}.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from pydantic import TypeAdapter, ValidationError

from bench.errors import LoadError
from bench.model import Load, Pacing, Settings, Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce:
    """Run one trial's load against a topic that exists; sends are recorded below `folder` (<trial>/sends).

    Of the load's producers `count` run here, numbered from `first` on; without a count, all. `load.messages` is how
    many messages these send.

    `grace_s`, or as long as the client itself may take, bounds the wait for sends that are still open when the load
    ends. An extra progress line comes within 20 ms after the number of acknowledged sends has passed each of
    `progress_at_acks`.

    Progress: sent, acked, failed, unknown, rate (acknowledged a second since the line before) and at_ns. Then
    start_ns and end_ns of the window (null where messages end it). Then open (sends), loop_lag_ns (longest since
    the line before) and recorder_backlog.

    Done: sent, acked, failed, unknown; window {start_ns, end_ns}; client {cpu_share, loop_lag_max_ns,
    recorder_backlog_max}; producer (effective settings). Then due_unsent (hits due within the load, never sent) and
    never_told (sends whose end the client never reported). Then stalled (users still waited for acks when the grace
    was over).
    """

    verb: ClassVar[str] = "produce"

    system: str
    endpoint: str
    topic: Topic
    producer: Settings
    load: Load
    trial: int
    run: str
    folder: Path
    seed: int
    grace_s: float = 30.0
    progress_at_acks: tuple[int, ...] = ()
    first: int = 0
    count: int | None = None

    @property
    def producers(self) -> int:
        """How many producers run here."""
        return self.load.producers if self.count is None else self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Connect the producers of a trial that is loaded in slices; they stay connected until Close.

    Its `load` is that of one slice: the lead-in is its `warm_up_s`, the counted part its `duration_s`. Several trials
    may be open at a time; one of them is loaded at a time.

    Done: producer (effective settings).
    """

    verb: ClassVar[str] = "open"

    produce: Produce


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLoad:
    """Run the whole load of an open trial, from `begin_ns` of this process's clock on; 0: at once.

    Progress: as of Produce. Done: what Produce promises, but for what Close does.
    """

    verb: ClassVar[str] = "run"

    trial: int
    begin_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RateHold:
    """A constant rate, in messages a second over all producers: for `lead_in_s`, then for `seconds` that count.

    What was due in that time and could not be sent is sent in the `overrun_s` after it.
    """

    rate: float
    lead_in_s: float
    seconds: float
    overrun_s: float

    def instead_of(self, load: Load) -> Load:
        """Return a trial's load with this rate and these times in place of its own."""
        pacing = Pacing(((self.seconds, self.rate),))
        return replace(load, pacing=pacing, warm_up_s=self.lead_in_s, duration_s=self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSlice:
    """Load an open trial for one slice; sends are recorded as of slice `number`.

    It begins at `begin_ns` of this process's clock; 0: at once. With `held` the slice is an open loop of that rate in
    place of the trial's own load, and when it is done all records so far are on disk.

    Progress: as of Produce, `sent` to `unknown` over all slices so far. Done: slice {slice, begun_ns, start_ns,
    end_ns}; what counts is from start_ns until before end_ns. Then acked (in this slice), acked_before (in those
    before), client (as of Produce), due_unsent and stalled (of this slice). After a stalled slice the trial takes
    no more.
    """

    verb: ClassVar[str] = "slice"

    trial: int
    number: int
    held: RateHold | None = None
    begin_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Disconnect the producers of an open trial and write its last records.

    Done: sent, acked, failed, unknown, never_told.
    """

    verb: ClassVar[str] = "close"

    trial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe:
    """Start live consumers, each of the whole topic; done as soon as messages sent from now on are seen.

    With `group` (its type, and how long a member takes over a message) they share the topic as members of one group.
    Those of several trials may run at a time. Consumers that the same trial had before are closed. They are numbered
    from `first` on. Receives are recorded below `folder` (<trial>/receives) with stage `live`. Done: {}.
    """

    verb: ClassVar[str] = "subscribe"

    system: str
    endpoint: str
    topic: Topic
    consumer: Settings
    consumers: int
    trial: int
    run: str
    folder: Path
    group: Settings = field(default_factory=dict)
    first: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainConsumers:
    """Wait until each live consumer of a trial has received `expected` messages, or nothing came for `grace_s`.

    They go on. With `to_disk` all records so far are on disk then. Done: received (the least over the consumers).
    """

    verb: ClassVar[str] = "drain"

    trial: int
    expected: int
    grace_s: float
    to_disk: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """End a trial's live consumers once each has `expected` different messages, or nothing new came for `grace_s`.

    Done: received, distinct (the least over the consumers).
    """

    verb: ClassVar[str] = "finish"

    trial: int
    expected: int
    grace_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """Read the whole topic from its beginning, stage `verify`; `deadline_s` is how long nothing may come.

    While there are fewer messages than `expected`, the end is not believed at once (System.read_all).

    Progress: received, at, first_ns, last_ns and stalls. `at` is a list of [partition, ledger or -1, entry or
    offset]: the last message of each partition. `first_ns` and `last_ns` are when the first and the last message
    came. While there is none, they are None and when it began. `stalls` are the times of more than a second in
    which nothing came: from_ns, to_ns, and received and at by then. The last one may still go on.

    Done: the same, and distinct, complete (whether every partition was read to its end), reason (None when complete).
    """

    verb: ClassVar[str] = "verify"

    system: str
    endpoint: str
    topic: Topic
    consumer: Settings
    trial: int
    run: str
    folder: Path
    deadline_s: float
    expected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGroup:
    """Read a topic as the consumer group `group`, until nothing has come for `silence_s`; then leave.

    The group begins at the earliest message, and has got to what was received once this is done. With `silence_s` 0 it
    only begins. Receives are recorded below `folder` with stage `group`. Done: received, distinct.
    """

    verb: ClassVar[str] = "read-group"

    system: str
    endpoint: str
    topic: Topic
    consumer: Settings
    trial: int
    run: str
    folder: Path
    group: str
    silence_s: float


Command: TypeAlias = (
    Produce | Open | RunLoad | RunSlice | Close | Subscribe | DrainConsumers | Finish | Verify | ReadGroup
)

_BY_VERB: dict[str, type[Command]] = {
    kind.verb: kind
    for kind in (
        Produce,
        Open,
        RunLoad,
        RunSlice,
        Close,
        Subscribe,
        DrainConsumers,
        Finish,
        Verify,
        ReadGroup,
    )
}


def _adapter(kind: type[Command]) -> TypeAdapter[Command]:
    return TypeAdapter(kind)


def to_line(command: Command) -> bytes:
    """Write a command as one line."""
    fields = _adapter(type(command)).dump_python(command, mode="json")
    return json.dumps({"verb": command.verb, **fields}).encode() + b"\n"


def from_line(line: bytes) -> Command:
    """Read a command. Raises LoadError naming what is wrong with it."""
    try:
        fields: dict[str, Any] = json.loads(line)
        kind = _BY_VERB[fields.pop("verb")]
        return _adapter(kind).validate_python(fields)
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise LoadError(
            f"A load process was given a command that it cannot read: {error!s} in {line!r}."
        ) from error
