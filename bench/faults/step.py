"""The steps of a scenario's timeline, read and checked before anything starts."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from bench.errors import ScenarioError
from bench.faults.condition import Condition
from bench.faults.fault import Fault
from bench.faults.kinds import kinds
from bench.scenario.schema import Duration

Place_ = tuple[str | int, ...]
_Model = TypeVar("_Model", bound=BaseModel)


class StepError(ScenarioError):
    """A step is wrong; `path` is where, from the list of steps on."""

    def __init__(self, path: Place_, message: str) -> None:
        """Say what is wrong at `path`."""
        super().__init__(message)
        self.path = path


class Heal(BaseModel):
    """When a fault is undone: `after` so much time, or at the `end` of the load (the default)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    after: Duration | None = None


class _Head(BaseModel):
    """What every step has beside its one action."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    name: str | None = None
    when: Condition
    heal: Heal | Literal["end", "never"] = "end"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: when it is due, and either a fault to strike or, in `heals`, the name of one to undo."""

    name: str
    when: Condition
    fault: Fault | None
    heals: str | None
    heal_after_s: float | None
    heal: Literal["after", "end", "never"]


def read_steps(documents: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Read the list `faults` of a scenario's system.

    A step is `when`, at most a `name` and a `heal`, and one action: a kind of fault, with its target or its own
    keys, or `undo` with the name of an earlier step. Raises StepError with the place of what is wrong.
    """
    steps: list[Step] = []
    for number, document in enumerate(documents):
        steps.append(_step(number, document, [step.name for step in steps]))
    return steps


def _step(number: int, document: Mapping[str, Any], before: Sequence[str]) -> Step:
    actions = [key for key in document if key not in _Head.model_fields]
    allowed = [*kinds(), "undo"]
    for key in actions:
        if key not in allowed:
            near = difflib.get_close_matches(key, [*allowed, *_Head.model_fields], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise StepError((number, key), f"there is no such step{hint}; one of {', '.join(allowed)}")
    if len(actions) != 1:
        raise StepError(
            (number,), f"a step has one action, this has {len(actions)}: one of {', '.join(allowed)}"
        )
    head = _checked(_Head, document, (number,))
    name = head.name or f"{actions[0]} {number + 1}"
    if name in before:
        raise StepError((number, "name"), f"an earlier step is called {name!r} too")
    action = document[actions[0]]
    if actions[0] == "undo":
        if action not in before:
            raise StepError(
                (number, "undo"), f"no earlier step is called {action!r}: one of {', '.join(before)}"
            )
        return Step(name, head.when, None, str(action), None, "never")
    fault = _fault(kinds()[actions[0]], action, (number, actions[0]))
    after = head.heal.after if isinstance(head.heal, Heal) else None
    return Step(name, head.when, fault, None, after, "after" if isinstance(head.heal, Heal) else head.heal)


def _fault(kind: type[Fault], action: object, path: Place_) -> Fault:
    return _checked(kind, action if isinstance(action, Mapping) else {"target": action}, path)


def _checked(model: type[_Model], value: object, path: Place_) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        inner = tuple(part for part in first["loc"] if isinstance(part, int | str))
        given = "" if first["type"] in {"missing", "extra_forbidden"} else f"; it is {first['input']!r}"
        raise StepError((*path, *inner), f"{first['msg'].removeprefix('Value error, ')}{given}") from None
