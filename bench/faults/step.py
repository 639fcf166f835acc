"""The steps of a scenario's timeline, read and checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from bench.errors import ScenarioError, did_you_mean
from bench.fault_kinds import fault_kind
from bench.faults import targets
from bench.faults.condition import Condition
from bench.faults.drain import Drain
from bench.faults.fault import Fault
from bench.faults.kinds import kinds
from bench.scenario.values import Count, Duration, StrictModel, disk_bytes_per_s
from bench.scenario.yaml_source import KeyPath
from bench.systems.draining import DRAIN

_A_MAPPING = "a mapping of keys is wanted here"
_Model = TypeVar("_Model", bound=BaseModel)


class StepError(ScenarioError):
    """A step is wrong; `path` is where, from the list of steps on."""

    def __init__(self, path: KeyPath, message: str) -> None:
        """Say what is wrong at `path`."""
        super().__init__(message)
        self.path = path


class Heal(StrictModel):
    """When a fault is undone: `after` so much time, or at the `end` of the load (the default)."""

    after: Duration | None = None
    """So much time after it was in force."""


class Head(StrictModel):
    """What every step has beside its one action."""

    model_config = ConfigDict(extra="ignore")

    name: str | None = None
    """What reports, expectations and later steps call it."""
    when: Condition
    """What it waits for."""
    times: Count | Literal["always"] = 1
    """How often it comes, one after the other; `always`: until the load is over."""
    heal: Heal | Literal["end", "never"] = "end"
    """When its fault is undone: after so much time, at the load's end, or never."""


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault, and when it is undone again."""

    fault: Fault
    heal: Literal["after", "end", "never"]
    heal_after_s: float | None


@dataclass(frozen=True, slots=True)
class Undo:
    """The end of an earlier step's fault, for all of its nodes or for its nth (from 1)."""

    step: str
    node: int | None


@dataclass(frozen=True, slots=True)
class Read:
    """A reader of the whole topic, from its earliest message on, beside whatever comes next."""


@dataclass(frozen=True, slots=True)
class AsGroup:
    """A consumer group comes for the topic: it begins at the earliest message, and with `reads` reads all there is."""

    group: str
    reads: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """Nothing: the record tells when its condition was met."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """A client that comes anew asks for the topic, through a node that is not struck now."""


@dataclass(frozen=True, slots=True)
class Rebalance:
    """An operator spreads the topic over all nodes; copying takes `bytes_per_s` at most, a node."""

    bytes_per_s: float | None


Action: TypeAlias = Strike | Undo | Read | AsGroup | LookUp | Mark | Rebalance | Drain


@dataclass(frozen=True, slots=True)
class Step:
    """One step: when it is due, and what is done then; with `always` again and again, until the load is over."""

    number: int
    """The place of its entry in the scenario's list."""
    name: str
    when: Condition
    action: Action
    always: bool = False
    entry: str = ""
    """What the scenario calls it, where one entry gives several steps."""

    @property
    def fault(self) -> Fault | None:
        """The fault that it strikes, if it does."""
        return self.action.fault if isinstance(self.action, Strike) else None

    @property
    def clock_s(self) -> float:
        """The longest that it may wait for, and that its fault may last, by the clock, in seconds."""
        condition = self.when
        blocked = condition.reader.blocked if condition.reader else None
        lasts = self.action.heal_after_s if isinstance(self.action, Strike) else None
        return sum(
            length
            for length in (condition.after, condition.jitter, condition.within, blocked, lasts)
            if length is not None
        )


_PLAIN: Mapping[str, tuple[object, Action]] = {
    "read": ("earliest", Read()),
    "look-up": ("topic", LookUp()),
    "mark": (True, Mark()),
}
_GROUPS: Mapping[str, bool] = {"subscribe": False, "consume": True}
"""Steps of a consumer group, and whether it reads."""
_REBALANCE = "rebalance"


def read_steps(documents: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Read the list `faults` of a scenario's system.

    A step is `when`, at most a `name`, `times` and a `heal`, and one action. The action is one of:

    - a kind of fault, with its target or its own keys
    - `undo` with the name of an earlier step, or `node 2 of` it
    - `read: earliest`
    - `subscribe` or `consume` with the name of a consumer group
    - `rebalance: topic` or at a rate (5MB/s)
    - `drain` with a node's name, or `node` and a `rate`
    - `look-up: topic`
    - `mark: true`

    Raises StepError with the place of what is wrong.
    """
    steps: list[Step] = []
    for number, document in enumerate(documents):
        steps += _steps(number, document, steps)
    return steps


def stands(steps: Sequence[Step]) -> bool:
    """Whether all that is done is to make something slower until the load is over: nothing changes after that."""
    return all(
        isinstance(step.action, Strike)
        and fault_kind(step.action.fault.key).only_slows
        and step.action.heal == "end"
        for step in steps
    )


def _steps(number: int, document: Mapping[str, Any], earlier_steps: Sequence[Step]) -> list[Step]:
    """Read one document: a step, or with `times` as many, one after the other."""
    if earlier_steps and earlier_steps[-1].always:
        raise StepError(
            (number,), f"no step comes after {earlier_steps[-1].name!r}, which comes again and again"
        )
    step, times = _step(number, document, earlier_steps)
    if times == "always":
        return [replace(step, always=True)]
    if times == 1:
        return [step]
    return [replace(step, name=f"{step.name}, {time}", entry=step.name) for time in range(1, times + 1)]


def _step(
    number: int, document: Mapping[str, Any], earlier_steps: Sequence[Step]
) -> tuple[Step, int | Literal["always"]]:
    actions = [key for key in document if key not in Head.model_fields]
    allowed = [*kinds(), "undo", *_PLAIN, *_GROUPS, _REBALANCE, DRAIN]
    for key in actions:
        if key not in allowed:
            hint = did_you_mean(key, [*allowed, *Head.model_fields])
            raise StepError((number, key), f"there is no such step{hint}; one of {', '.join(allowed)}")
    if len(actions) != 1:
        raise StepError(
            (number,), f"a step has one action, this has {len(actions)}: one of {', '.join(allowed)}"
        )
    head = _validate(Head, document, (number,))
    name = head.name or f"{actions[0]} {number + 1}"
    if name in [step.name for step in earlier_steps]:
        raise StepError((number, "name"), f"an earlier step is called {name!r} too")
    if head.when.reader is not None and not any(isinstance(step.action, Read) for step in earlier_steps):
        raise StepError((number, "when", "reader"), "no earlier step starts a reader (read: earliest)")
    path = (number, actions[0])
    return Step(
        number, name, head.when, _action(actions[0], document[actions[0]], head, path, earlier_steps)
    ), head.times


def _action(word: str, value: object, head: Head, path: KeyPath, earlier_steps: Sequence[Step]) -> Action:
    if word == "read" and (head.times != 1 or any(isinstance(step.action, Read) for step in earlier_steps)):
        raise StepError(path, "a trial has one reader")
    if head.times == "always":
        _check_always(head, path[0])
    if word in _PLAIN:
        only, action = _PLAIN[word]
        if value != only:
            raise StepError(path, f"give {only!r}; it is {value!r}")
        return action
    if word in _GROUPS:
        return _group(word, value, path)
    if word == _REBALANCE:
        return _rebalance(value, path)
    if word == DRAIN:
        return _validate(Drain, value if isinstance(value, Mapping) else {"node": value}, path)
    if word == "undo":
        return _undo(str(value), path, earlier_steps)
    return _strike(word, value, head, path, earlier_steps)


def _group(word: str, value: object, path: KeyPath) -> AsGroup:
    if not isinstance(value, str) or not value:
        raise StepError(path, f"give the name of a consumer group; it is {value!r}")
    return AsGroup(value, _GROUPS[word])


def _rebalance(value: object, path: KeyPath) -> Rebalance:
    if value == "topic":
        return Rebalance(None)
    try:
        return Rebalance(disk_bytes_per_s(value))
    except ValueError:
        message = f"give `topic`, or at which rate a node may copy: 5MB/s; it is {value!r}"
        raise StepError(path, message) from None


def _strike(word: str, value: object, head: Head, path: KeyPath, earlier_steps: Sequence[Step]) -> Strike:
    fault = _fault(kinds()[word], value, path)
    for target in fault.names():
        if (single := targets.earlier(target)) is not None:
            _earlier_fault(single[1], path, earlier_steps)
    if head.heal == "never" and fault.must_heal:
        raise StepError((path[0], "heal"), f"{word} cannot stay for ever: give `end` or a time")
    if isinstance(head.heal, Heal):
        return Strike(fault, "after", head.heal.after)
    return Strike(fault, head.heal, None)


def _check_always(head: Head, number: int | str) -> None:
    if head.when.after is None or head.when.load is not None:
        raise StepError(
            (number, "when"), "a step that comes always needs a time between, `after`, and the load"
        )
    if head.when.within is not None:
        raise StepError(
            (number, "when", "within"), "a step that comes always ends with the load: leave this out"
        )


def _undo(value: str, path: KeyPath, earlier_steps: Sequence[Step]) -> Undo:
    single = targets.earlier(value)
    if single is None:
        _earlier_fault(value, path, earlier_steps)
        return Undo(value, None)
    if not _earlier_fault(single[1], path, earlier_steps).heals_singly:
        raise StepError(path, f"{single[1]!r} can only be undone for all of its nodes")
    return Undo(single[1], single[0])


def _earlier_fault(name: str, path: KeyPath, earlier_steps: Sequence[Step]) -> Fault:
    """Return the fault of an earlier step."""
    faults = {step.name: step.fault for step in earlier_steps if step.fault is not None}
    if name not in faults:
        raise StepError(path, f"no earlier step with a fault is called {name!r}: one of {', '.join(faults)}")
    return faults[name]


def _fault(kind: type[Fault], action: object, path: KeyPath) -> Fault:
    return _validate(kind, action if isinstance(action, Mapping) else {"target": action}, path)


def _validate(model: type[_Model], value: object, path: KeyPath) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        inner = tuple(part for part in first["loc"] if isinstance(part, int | str))
        got = "" if first["type"] in {"missing", "extra_forbidden"} else f"; it is {first['input']!r}"
        if inner[:1] == ("heal",) and not isinstance(error.errors()[-1]["input"], Mapping):
            raise StepError((*path, "heal"), f"give `end`, `never` or a time, {{after: 5s}}{got}") from None
        message = _A_MAPPING if first["type"] == "model_type" else first["msg"].removeprefix("Value error, ")
        raise StepError(
            (*path, *(part for part in inner if part != Heal.__name__)), f"{message}{got}"
        ) from None
