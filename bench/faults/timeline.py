"""Runs the steps beside the load and keeps what they did, with the evidence."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.errors import BenchError, FaultError
from bench.faults import targets
from bench.faults.fault import Effect, Place
from bench.faults.step import Step
from bench.model import NANOS, Node

_TURN_S = 0.005
_LAST_STEPS_S = 300.0
"""How long steps may still take once the load is over."""


@dataclass(frozen=True, slots=True)
class Site:
    """What a timeline works on. `ask` finds a system's own parts; the load is over after `load_s`, if that is known."""

    backend: object
    nodes: Sequence[Node]
    client: str
    ask: Callable[[str], list[str]]
    seed: int
    load_s: float | None


@dataclass(slots=True)
class _Struck:
    """A fault that is in force, or was."""

    step: Step
    record: dict[str, Any]
    effect: Effect | None = None
    due_ns: int | None = None


@dataclass(slots=True)
class Timeline:
    """The steps of one trial. `told` the load's figures while it runs, `finish` after it.

    Without steps it does nothing and has no thread: one that looks every 5 ms has no place beside a measurement.
    `records` is what trial.json keeps (docs/event-log.md); whatever happens, `finish` undoes what can be undone.
    """

    steps: Sequence[Step]
    site: Site
    records: list[dict[str, Any]] = field(default_factory=list)
    _acked: int = 0
    _over: bool = False
    _given_up: bool = False
    _error: BaseException | None = None
    _struck: list[_Struck] = field(default_factory=list)
    _thread: threading.Thread | None = None
    _chance: random.Random = field(default_factory=random.Random)

    @property
    def acks(self) -> tuple[int, ...]:
        """Numbers of acknowledged sends at which the load should tell at once."""
        return tuple(sorted(step.when.acks for step in self.steps if step.when.acks is not None))

    def _start(self) -> None:
        self._chance = random.Random(self.site.seed)
        self._thread = threading.Thread(target=self._run, name="timeline", daemon=True)
        self._thread.start()

    @property
    def all_healed(self) -> bool:
        """Whether nothing that was struck is left as it is."""
        return all(struck.record["healed_ns"] is not None for struck in self._struck)

    def told(self, figures: Mapping[str, Any]) -> None:
        """Take the load's figures; the first ones start the clock."""
        if not self.steps:
            return
        self._acked = int(figures["acked"])
        if self.site.load_s is not None and figures["elapsed_s"] >= self.site.load_s:
            self._over = True
        if self._thread is None:
            self._start()

    def check(self) -> None:
        """Raise what broke the timeline off, if anything did."""
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """Let the steps that wait for the load's end come, then undo what is to be undone.

        Raises FaultError for a step that never came, and what a fault raised.
        """
        if not self.steps:
            return
        self._over = True
        if self._thread is None:
            self._start()
        self._thread.join(_LAST_STEPS_S)  # type: ignore[union-attr]
        self._given_up = True
        self._thread.join()  # type: ignore[union-attr]
        self.check()
        done = {record["name"] for record in self.records}
        if missed := [step.name for step in self.steps if step.name not in done]:
            raise FaultError(f"The load was over before these steps were due: {', '.join(missed)}.")

    def abandon(self) -> None:
        """Stop after a failure: no further step comes, what is in force is undone as well as it can be."""
        self._given_up = self._over = True
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            for step in self.steps:
                if not self._await(step):
                    break
                self._do(step)
            self._await_heals()
        except BaseException as error:  # noqa: BLE001 - a thread has nobody to raise it to; `check` does
            self._error = error
        finally:
            self._heal_all()

    def _await(self, step: Step) -> bool:
        """Wait for a step's condition; False when the timeline was given up first."""
        begun_ns = time.monotonic_ns()
        while not self._due(step, begun_ns):
            if self._given_up or (self._over and self._lacks_acks(step)):
                return False
            self._heal_due()
            time.sleep(_TURN_S)
        return True

    def _due(self, step: Step, begun_ns: int) -> bool:
        when = step.when
        if self._lacks_acks(step):
            return False
        if when.load is not None and not self._over:
            return False
        return when.after is None or time.monotonic_ns() - begun_ns >= when.after * NANOS

    def _lacks_acks(self, step: Step) -> bool:
        return step.when.acks is not None and self._acked < step.when.acks

    def _do(self, step: Step) -> None:
        if step.heals is not None:
            undone = next(one for one in self._struck if one.step.name == step.heals)
            self.records.append({"name": step.name, "kind": "undo", "asked_ns": time.monotonic_ns()})
            self._heal(undone)
        else:
            self._strike(step)

    def _strike(self, step: Step) -> None:
        fault = step.fault
        if fault is None:
            return
        find = partial(targets.find, nodes=self.site.nodes, ask=self.site.ask, chance=self._chance)
        place = Place(self.site.backend, self.site.nodes, self.site.client, find)
        nodes = list({node.name: node for name in fault.targets for node in find(name)}.values())
        record: dict[str, Any] = {
            "name": step.name,
            "kind": fault.key,
            "when": str(step.when),
            "target": fault.targets,
            "nodes": [node.name for node in nodes],
            "asked_ns": time.monotonic_ns(),
            "effect_ns": None,
            "seen": None,
            "heal": step.heal,
            "heal_asked_ns": None,
            "healed_ns": None,
            "heal_seen": None,
            "proven": False,
        }
        self.records.append(record)
        struck = _Struck(step, record)
        self._struck.append(struck)
        struck.effect = fault.strike(place, nodes)
        record["effect_ns"] = time.monotonic_ns()
        record["seen"] = struck.effect.seen
        if step.heal_after_s is not None:
            struck.due_ns = record["effect_ns"] + round(step.heal_after_s * NANOS)

    def _heal_due(self) -> None:
        now_ns = time.monotonic_ns()
        for struck in self._struck:
            if struck.due_ns is not None and struck.due_ns <= now_ns:
                self._heal(struck)

    def _heal(self, struck: _Struck) -> None:
        """Undo a fault, once, and ask for its last evidence."""
        if struck.effect is None or struck.record["heal_asked_ns"] is not None:
            return
        struck.due_ns = None
        struck.record["heal_asked_ns"] = time.monotonic_ns()
        struck.record["heal_seen"] = struck.effect.heal()
        struck.record["healed_ns"] = time.monotonic_ns()
        self._prove(struck)

    @staticmethod
    def _prove(struck: _Struck) -> None:
        evidence = struck.effect.proof() if struck.effect is not None else None
        if evidence is not None:
            struck.record["proven"] = True
            struck.record["seen"] = f"{struck.record['seen']} {evidence}".strip()

    def _await_heals(self) -> None:
        """Wait for timed heals, and for the load's end, at which the others are undone."""
        while not self._given_up and (not self._over or any(one.due_ns is not None for one in self._struck)):
            self._heal_due()
            time.sleep(_TURN_S)
        for struck in self._struck:
            if struck.step.heal == "never" and struck.record["heal_asked_ns"] is None:
                self._prove(struck)
            else:
                self._heal(struck)

    def _heal_all(self) -> None:
        """Undo what is still in force after a failure; the network and the disks go with the cluster anyway."""
        for struck in self._struck:
            if struck.step.heal != "never":
                with suppress(BenchError, OSError):
                    self._heal(struck)
